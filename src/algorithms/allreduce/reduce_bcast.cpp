// Reduce, then broadcast: the whole vector along a binomial tree to rank 0, and the result back
// along the same tree.
//
// Cost: 2 ceil(log2 P)(alpha + m beta) + ceil(log2 P) m gamma. The same as an application that
// calls MPI_Reduce and MPI_Bcast: the baseline of all other algorithms. Keeps rank order.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), sections 4.1 and 4.4.
#include "algorithms/allreduce/tree_walk.hpp"
#include "algorithms/row.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allreduce {
namespace {

void build(const Plan& plan, Builder& builder) {
  const Range all{0, plan.problem.count};
  TreeWalk walk(builder, binomial_node(plan.problem.ranks, builder.me()), all);
  walk.up(all);
  walk.turn();
  walk.down(all);
}

Cost cost(const Plan& plan) {
  const Count levels = ceil_log2(plan.problem.ranks);
  return {2 * levels, 2 * levels * plan.problem.count, levels * plan.problem.count};
}

}  // namespace

LATECOMER_ROW(allreduce, reduce_bcast) {
  return {.scratch_messages = 2,
          .cost_formula = "ceil(log2 P)(2 alpha + 2 m beta + m gamma)",
          .source = "Thakur, Rabenseifner and Gropp 2005 (binomial reduce and broadcast)",
          .build = build,
          .cost = cost,
          .informs_all = always_informs};
}

}  // namespace latecomer::allreduce
