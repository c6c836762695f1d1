// What planning takes, told beforehand and alike on all ranks: time, by formulas fitted to
// measurements (evidence/planning_time.py), and memory, by counting.
#pragma once

#include "algorithms/registry.hpp"

namespace latecomer {

/// How long making a plan of the row, pricing it and building one rank's program take, about:
/// mostly more than the time measured, seldom more than three times that
/// (docs/decisions/0016-selection.md). 0 for the MPI library's own collective.
[[nodiscard]] Seconds planning_cost(const Algorithm& row, const Problem& problem,
                                    const Network& network);

/// Bytes of a plan and its longest program, about.
[[nodiscard]] std::size_t memory_of(const Plan& plan);

}  // namespace latecomer
