// A call as a problem.
#pragma once

#include "runtime/route.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

[[nodiscard]] Problem problem_of(Rank ranks, const AllreduceArguments& call);

}  // namespace latecomer
