// The prices by which algorithms are chosen: the time that a plan takes, how far each cost of the
// network makes it up, and the time that planning takes.
#pragma once

#include <array>

#include "algorithms/registry.hpp"

namespace latecomer {

/// A number for each cost of a network: start-ups with handshakes, bytes moved, bytes combined, and
/// how many times longer messages take that meet another one.
using NetworkParts = std::array<double, 4>;

/// The network whose costs are so many times larger, given as logarithms. Exchanges stay at 1 or
/// more.
[[nodiscard]] Network scaled(Network network, const NetworkParts& logarithms);
/// By which logarithms `network` is scaled(of); 0 for costs that one of both does not have.
[[nodiscard]] NetworkParts scale_of(const Network& network, const Network& of);

/// Returns the seconds until the last rank leaves if all arrive together and links are rested: the
/// time that Hockney's model gives for the plan's cost, less the time that a burst saves. Plans
/// that use the memory of nodes also work there. `placement`: where others run; ranks that share a
/// node share its link.
[[nodiscard]] Seconds balanced_time(const Plan& plan, const Network& network,
                                    const Placement& placement = {});

/// The derivative of its logarithm by that of each cost; 0 for a plan that takes no time.
[[nodiscard]] NetworkParts shares_of_price(const Plan& plan, const Network& network,
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

/// The parameters with which a choice tries the row: once as it is by default; if arrivals are
/// known, `nodes` also with each arrival-aware algorithm among them that may be worth planning for.
[[nodiscard]] std::vector<Parameters> ways(const Algorithm& row, const Problem& problem,
                                           const Network& network, const Placement& placement,
                                           bool arrivals_known);
/// Returns the exit of each rank in seconds after the first arrival, for these arrivals (seconds,
/// one entry a rank): by the graph of all programs, or by a run of protocols on the virtual
/// network. A rank that comes more than 1e5 s after the first counts as 1e5 s late. A rank that
/// never leaves has infinity.
[[nodiscard]] std::vector<Seconds> replay(const Plan& plan, const Network& network,
                                          const std::vector<Seconds>& arrivals,
                                          const Placement& placement = {});

/// Estimates the seconds that a replay takes, or that of the algorithm among nodes in its place;
/// the same on all ranks.
[[nodiscard]] Seconds replay_cost(const Plan& plan);
/// Estimates the seconds of making a plan, pricing it and building one rank's program, alike on all
/// ranks: mostly more than the time measured, for short plans 30 times as much, and at least a
/// fifth of it (evidence/planning_time.py). 0 for the MPI library's own collective. Where ranks
/// share nodes, the plan is that of an algorithm among them, and operations on their memory.
[[nodiscard]] Seconds planning_cost(const Choice& choice, const Problem& problem,
                                    const Network& network, const Placement& placement = {});

/// Returns the mean over the ranks of exit minus last arrival, in seconds, for these arrivals: by
/// the row's closed form, or else by replay. If the replay would be too long, or `arrivals` is
/// empty, the price is balanced_time(); of a plan on nodes it is the price of the algorithm among
/// them for the arrivals of the nodes, with the work within nodes. For an all-reduce on nodes it
/// is the last exit where programs are replayed, not the mean (docs/decisions/0027-nodes.md).
/// `placement`: where the plan runs.
[[nodiscard]] Seconds mean_after_last(const Plan& plan, const Network& network,
                                      const std::vector<Seconds>& arrivals,
                                      const Placement& placement = {});

}  // namespace latecomer
