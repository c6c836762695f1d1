// Writes one rank's operations in all levels of a design (levels.hpp).
#pragma once

#include "algorithms/allreduce/generalized/levels.hpp"
#include "schedule/builder.hpp"

namespace latecomer::allreduce {

void build_levels(const Plan& plan, const Design& design, Builder& builder);

/// True if its messages tell all ranks of each other's arrivals: a field of registry rows.
[[nodiscard]] bool levels_inform(const Plan& plan);

}  // namespace latecomer::allreduce
