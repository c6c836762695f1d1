// The candidates of a choice: the parameters with which it tries each row, what it takes to plan
// them, and balanced ones that may be faster than their prices say.
#pragma once

#include <string>
#include <vector>

#include "algorithms/registry.hpp"

namespace latecomer {

/// The parameters with which a choice tries the row. Rows are tried once, as they are by default;
/// if arrivals are known, rows that lift also with each arrival-aware algorithm among them that may
/// be worth planning for so many places.
[[nodiscard]] std::vector<Parameters> ways(const Algorithm& row, const Problem& problem,
                                           const Network& network, const Placement& placement,
                                           bool arrivals_known);

/// Estimates the seconds of making a plan of the row, pricing it and building one rank's program:
/// mostly more than the time measured, for short plans 30 times as much, and at least a fifth of it
/// (evidence/planning_time.py). 0 for the MPI library's own collective. `placement`: of the ranks;
/// where they share nodes the operations on the memory of nodes count, too.
[[nodiscard]] Seconds planning_cost(const Algorithm& row, const Problem& problem,
                                    const Network& network, const Placement& placement = {});

/// Estimates the bytes of a plan and its longest program.
[[nodiscard]] std::size_t memory_of(const Plan& plan);

// Balanced programs that may be faster than the one with the least price, since prices are off.

/// Prices of programs that rest on the same costs are off against each other by up to so many
/// times (docs/decisions/0016-selection.md).
inline constexpr double kDoubt = 1.3;

/// A balanced program that may be faster than the one with the least price.
struct Rival {
  Choice choice;
  /// The program's; with a ' if it has other parameters than `fastest`; on nodes of that among
  /// them.
  std::string name;
};

/// Returns the programs whose balanced price is at most kDoubt times that of `fastest`, the plan
/// that has the least one; without that plan's own, and at most four. Of rooted collectives all
/// compete. First come those that are cheapest if messages both ways between two ranks are slower
/// than the network's costs have it, which is what these costs are most often wrong in. On nodes
/// the programs among them compete.
[[nodiscard]] std::vector<Rival> rivals(const Plan& fastest, const Knowledge& knowledge);

}  // namespace latecomer
