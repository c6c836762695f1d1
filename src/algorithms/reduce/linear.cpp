// Linear: every rank sends its vector to the root, which folds them in rank order.
//
// Cost: (P-1)(alpha + m beta) + m gamma. The root's link carries all; use it for very few ranks.
// Source: equation 1 of Marendic 2012.
#include "algorithms/reduce/tree_fold.hpp"
#include "algorithms/row.hpp"

namespace latecomer::reduce {
namespace {

void build(const Plan& plan, Builder& builder) {
  const Problem& problem = plan.problem;
  const Range all{0, problem.count};
  if (builder.me() != problem.root) return builder.send(problem.root, builder.input(all));
  TreeFold fold(builder, all, true);
  for (Rank rank = 0; rank < problem.ranks; ++rank) {
    if (rank == problem.root) {
      fold.own();
    } else {
      fold.receive(rank, Received::right, rank + 1 == problem.ranks);
    }
  }
  fold.finish();
}

/// All vectors but the last are combined during later transfers.
Cost cost(const Plan& plan) {
  const Count others = plan.problem.ranks - 1;
  return {others, others * plan.problem.count, plan.problem.count};
}

}  // namespace

LATECOMER_ROW(reduce, linear) {
  return {.scratch_messages = 3,
          .cost_formula = "(P-1)(alpha + m beta) + m gamma",
          .source = "Marendic 2012, equation 1",
          .build = build,
          .cost = cost};
}

}  // namespace latecomer::reduce
