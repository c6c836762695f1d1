#include "runtime/route.hpp"

#include "runtime/operators.hpp"

namespace latecomer {
namespace {

constexpr MPI_Count kLargestElement = MPI_Count{1} << 30;  // MPI packs at most 2 GiB at once

/// Where data are only moved, any types do.
bool types_fit(const Call& call) {
  if (!combines(call.collective)) return true;
  if (call.op == MPI_REPLACE || call.op == MPI_NO_OP) return false;
  if (kind_of(call.op) == OperatorKind::built_in) return defined_on(call.op, call.sendtype);
  MPI_Count bytes = 0;
  PMPI_Type_size_x(call.sendtype, &bytes);
  return bytes > 0 && bytes <= kLargestElement;
}

}  // namespace

Route route(const CommState& state, const Call& call) {
  const Algorithm& algorithm = *state.choice(call.collective).algorithm;
  // Of an intercommunicator the library knows the sides.
  if (state.intercommunicator) {
    return algorithm.kind == Kind::native ? Route::native : Route::intercommunicator;
  }
  if (wrong(call, state.ranks, state.rank)) return Route::wrong_arguments;
  if (algorithm.kind == Kind::native) return Route::native;
  const Problem problem = problem_of(call, state.ranks, state.rank);
  if (problem.count == 0 || state.ranks == 1) return Route::trivial;
  if (!types_fit(call)) return Route::type;
  if (!problem.commutative && algorithm.commutative_only) return Route::needs_commutative;
  return Route::latecomer;
}

std::uint64_t* counter(latecomer_stats& stats, Route route) {
  switch (route) {
    case Route::latecomer:
      return nullptr;
    case Route::native:
      return &stats.native;
    case Route::wrong_arguments:
      return &stats.fallback_arguments;
    case Route::intercommunicator:
      return &stats.fallback_intercommunicator;
    case Route::trivial:
      return &stats.fallback_trivial;
    case Route::type:
      return &stats.fallback_type;
    case Route::needs_commutative:
      return &stats.fallback_operator;
  }
  return nullptr;
}

}  // namespace latecomer
