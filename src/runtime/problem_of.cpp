#include "runtime/problem_of.hpp"

#include "runtime/operators.hpp"

namespace latecomer {

Problem problem_of(Rank ranks, const AllreduceArguments& call) {
  MPI_Count bytes = 0;
  int commutative = 0;
  PMPI_Type_size_x(call.type, &bytes);
  PMPI_Op_commutative(call.op, &commutative);
  Problem problem;
  problem.ranks = ranks;
  problem.count = call.count;
  problem.element_bytes = bytes;
  problem.commutative = commutative != 0;
  problem.exact = exact(call.op, call.type);
  problem.in_place = call.in_place();
  return problem;
}

}  // namespace latecomer
