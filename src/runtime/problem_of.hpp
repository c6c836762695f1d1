// A call as a problem.
#pragma once

#include "runtime/route.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

/// What the arguments ask for. They must not be wrong.
[[nodiscard]] Problem problem_of(Rank ranks, const AllreduceArguments& call);

}  // namespace latecomer
