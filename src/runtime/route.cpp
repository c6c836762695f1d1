#include "runtime/route.hpp"

#include "runtime/operators.hpp"

namespace latecomer {
namespace {

constexpr MPI_Count kLargestElement = MPI_Count{1} << 30;  // MPI packs at most 2 GiB at once

bool wrong(const AllreduceArguments& call) {
  return call.count < 0 || call.type == MPI_DATATYPE_NULL || call.op == MPI_OP_NULL ||
         call.recvbuf == MPI_IN_PLACE || (call.count > 0 && call.sendbuf == call.recvbuf);
}

bool types_fit(const AllreduceArguments& call) {
  if (call.op == MPI_REPLACE || call.op == MPI_NO_OP) return false;
  if (kind_of(call.op) == OperatorKind::built_in) return defined_on(call.op, call.type);
  MPI_Count bytes = 0;
  PMPI_Type_size_x(call.type, &bytes);
  return bytes > 0 && bytes <= kLargestElement;
}

}  // namespace

Route route(const CommState& state, const AllreduceArguments& call) {
  if (wrong(call)) return Route::wrong_arguments;
  const Algorithm& algorithm = *state.choice.algorithm;
  if (algorithm.kind == Kind::native) return Route::native;
  if (state.intercommunicator) return Route::intercommunicator;
  if (call.count == 0 || state.ranks == 1) return Route::trivial;
  if (!types_fit(call)) return Route::type;
  int commutative = 0;
  PMPI_Op_commutative(call.op, &commutative);
  if (commutative == 0 && algorithm.commutative_only) return Route::needs_commutative;
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
