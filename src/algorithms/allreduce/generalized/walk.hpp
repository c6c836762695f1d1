// Writes one rank's way through the levels of a design (levels.hpp).
#pragma once

#include "algorithms/allreduce/generalized/levels.hpp"
#include "schedule/builder.hpp"

namespace latecomer::allreduce {

void build_levels(const Plan& plan, const Design& design, Builder& builder);

/// Whether its messages tell all ranks of each other: a field of registry rows.
[[nodiscard]] bool levels_inform(const Plan& plan);

}  // namespace latecomer::allreduce
