// The cost of planning, estimated beforehand and alike on all ranks: its time by a model of four
// numbers, its memory by counting.
#pragma once

#include "algorithms/registry.hpp"

namespace latecomer {

/// Estimates the seconds of making a plan of the row, pricing it and building one rank's program:
/// mostly more than the time measured, for short plans 30 times as much, and at least a fifth of it
/// (evidence/planning_time.py). 0 for the MPI library's own collective. `placement`: of the ranks;
/// where they share nodes the operations on the memory of nodes count, too.
[[nodiscard]] Seconds planning_cost(const Algorithm& row, const Problem& problem,
                                    const Network& network, const Placement& placement = {});

/// Estimates the bytes of a plan and its longest program.
[[nodiscard]] std::size_t memory_of(const Plan& plan);

}  // namespace latecomer
