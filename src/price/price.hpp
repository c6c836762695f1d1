// The prices by which algorithms are chosen: the time that a plan takes.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "algorithms/registry.hpp"

namespace latecomer {

/// Returns the seconds until the last rank leaves if all arrive together and links are rested: the
/// time that Hockney's model gives for the plan's cost, less the time that a burst saves. Plans
/// that use the memory of nodes also work there. `placement`: where others run; ranks that share a
/// node share its link.
[[nodiscard]] Seconds balanced_time(const Plan& plan, const Network& network,
                                    const Placement& placement = {});

/// Limits of replays, which take some microseconds for each message.
inline constexpr Count kMaxReplayed = 65536;        // messages of all ranks, about
inline constexpr Count kMaxReplayedOnNodes = 4096;  // operations on the memory of nodes, about
inline constexpr Rank kMaxReplayedRanks = 128;

/// Returns true if a choice among the rows should plan this one: it takes the problem, may be worth
/// the time of planning, and can be priced for given arrivals if it depends on them. `placement`:
/// of the ranks, which decides about the rows that compete.
[[nodiscard]] bool may_pay(const Algorithm& row, const Problem& problem, const Network& network,
                           const Placement& placement = {});

/// True for rows that compete in the choice among all: arrival-aware ones, and the one that stands
/// for the balanced ones.
[[nodiscard]] inline bool is_candidate(const Algorithm& row) {
  return row.arrival_aware != row.stands_for_others;
}

/// Returns the exit of each rank in seconds after the first arrival, for these arrivals (seconds,
/// one entry a rank): by the graph of all programs, or by a run of protocols on the virtual
/// network. A rank that comes more than 1e5 s after the first counts as 1e5 s late. A rank that
/// never leaves has infinity.
[[nodiscard]] std::vector<Seconds> replay(const Plan& plan, const Network& network,
                                          const std::vector<Seconds>& arrivals,
                                          const Placement& placement = {});
/// Replays of a plan for many arrivals.
struct Replays {
  std::function<std::vector<Seconds>(const std::vector<Seconds>& arrivals)> exits;  // as replay()
  // Estimates of the seconds that preparing them takes, and each; the same on all ranks.
  Seconds first = 0;
  Seconds each = 0;
};
[[nodiscard]] Replays replays_of(const Plan& plan, const Network& network,
                                 const Placement& placement = {});
/// Returns true if a replay is not too long.
[[nodiscard]] bool replayable(const Plan& plan, const Network& network);

/// Estimates the seconds that a replay takes, or that of the algorithm among nodes in its place;
/// the same on all ranks.
[[nodiscard]] Seconds replay_cost(const Plan& plan);

/// Returns the mean over the ranks of exit minus last arrival, in seconds, for these arrivals: by
/// the row's closed form, or else by replay. If the replay would be too long, or `arrivals` is
/// empty, the price is balanced_time(); of a plan on nodes it is the price of the algorithm among
/// them for the arrivals of the nodes, with the work within nodes. For an all-reduce on nodes it
/// is the last exit where programs are replayed, not the mean (docs/decisions/0027-nodes.md).
/// `placement`: where the plan runs.
[[nodiscard]] Seconds mean_after_last(const Plan& plan, const Network& network,
                                      const std::vector<Seconds>& arrivals,
                                      const Placement& placement = {});

// The costs of a network as factors that are believed to be off, and how far each makes up a price.

/// A number for each: start-ups with handshakes, bytes moved, bytes combined, and how many times
/// longer messages take that meet another one.
using NetworkParts = std::array<double, 4>;

/// The network whose parts are so many times larger, given as logarithms. Exchanges stay at 1 or
/// more.
[[nodiscard]] Network scaled(Network network, const NetworkParts& logarithms);
/// By which logarithms `network` is scaled(of); 0 for costs that one of both does not have.
[[nodiscard]] NetworkParts scale_of(const Network& network, const Network& of);

/// The derivative of the logarithm of balanced_time() by that of each part; 0 for a plan that takes
/// no time.
[[nodiscard]] NetworkParts shares_of_price(const Plan& plan, const Network& network,
                                           const Placement& placement = {});

// The choice where ranks share nodes. The costs of other rows count one message of a rank on its
// link, so there rows that lift compete alone. The program among them takes every problem, if need
// be by an algorithm among all ranks.

/// The problem among the nodes.
[[nodiscard]] Problem problem_of_nodes(Problem problem, const Placement& placement);

/// True if ranks share nodes and the collective has a row for that.
[[nodiscard]] bool by_nodes(Collective collective, const Placement& placement);

/// True if a choice may consider the row for ranks with this placement. Where each rank has a node
/// of its own that is every row but those that lift, which then stand for others.
[[nodiscard]] bool competes_on(const Algorithm& row, const Placement& placement);

/// The parameter that makes `nodes` run the same program among the nodes as this plan of it; none
/// for plans of other rows.
[[nodiscard]] Parameters same_among(const Plan& plan);

/// Operations of one rank of a plan on the memory of its node, about; 0 for other plans.
[[nodiscard]] Count operations_on_node(const Plan& plan);

}  // namespace latecomer
