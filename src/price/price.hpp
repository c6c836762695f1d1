// How long a plan takes: the prices by which algorithms are chosen.
#pragma once

#include "algorithms/registry.hpp"

namespace latecomer {

/// Seconds until the last rank leaves when all arrive together, links being rested: by Hockney's
/// model from the plan's cost, less what a burst saves.
[[nodiscard]] Seconds balanced_time(const Plan& plan, const Network& network);

/// Replays take up to a microsecond for each message. What would take longer is priced as if all
/// ranks arrived together.
inline constexpr Count kMaxReplayed = 65536;  // messages of all ranks, about
inline constexpr Rank kMaxReplayedRanks = 128;

/// True if a choice among the rows should plan this one: it takes the problem, may be worth the
/// time of planning, and can be priced for given arrivals if it depends on them.
[[nodiscard]] bool may_pay(const Algorithm& row, const Problem& problem, const Network& network);

/// When each rank leaves, in seconds after the first arrival, if they arrive so (one entry a rank,
/// seconds): all ranks' programs or protocols run on the virtual network. A rank that comes more
/// than 1e5 s after the first counts as 1e5 s late. A rank that never leaves has infinity.
[[nodiscard]] std::vector<Seconds> replay(const Plan& plan, const Network& network,
                                          const std::vector<Seconds>& arrivals);

/// What a replay takes, in seconds, about; the same on all ranks.
[[nodiscard]] Seconds replay_cost(const Plan& plan);

/// The mean over the ranks of exit minus last arrival, seconds. An arrival-aware row is priced for
/// these arrivals, by its closed form or else by replay. Others are priced as if all arrived
/// together, unless `exact`, and so is every row where `arrivals` is empty.
[[nodiscard]] Seconds mean_after_last(const Plan& plan, const Network& network,
                                      const std::vector<Seconds>& arrivals, bool exact = false);

}  // namespace latecomer
