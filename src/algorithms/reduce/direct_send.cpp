// Direct send: the vector is cut into a block for each rank, every rank sends each block to its
// owner, which reduces it, and a binomial tree gathers the results on the root.
//
// Cost: (P-1 + ceil(log2 P)) alpha + 2 (P-1)/P m beta + (P-1)/P m gamma. All ranks combine alike;
// use it for long vectors and few ranks, or for slow operators. Keeps rank order.
// Source: equation 3 of Marendic 2012 ("direct-send", there without the gather and on one link).

#include "algorithms/gather_scatter/part_tree.hpp"
#include "algorithms/reduce/tree_fold.hpp"
#include "algorithms/row.hpp"
#include "base/partition.hpp"
#include "patterns/trees.hpp"

namespace latecomer::reduce {
namespace {

/// In each step every rank sends to one and receives from one. It receives from the neighbour
/// below, then from farther down, and then from rank P-1 down to the neighbour above: two runs,
/// each reduced on its own.
Slice reduce_block(const Plan& plan, Range block, Builder& builder) {
  const Rank ranks = plan.problem.ranks;
  const Rotated steps(ranks, builder.me());
  TreeFold below(builder, block, false);
  TreeFold above(builder, block, false);
  below.own();
  for (Rank step = 1; step < ranks; ++step) {
    const Rank from = steps.rank(ranks - step);
    TreeFold& run = from < builder.me() || builder.commutative() ? below : above;
    run.receive(from, Received::left, false);
  }
  const bool joined = builder.commutative() || builder.me() + 1 == ranks;
  return joined ? below.value()
                : builder.fold(above.value(), Received::right, below.value(), below.value());
}

/// The tree that gathers the results.
PartTree gathering(const Problem& problem) {
  const Problem parted{Collective::gather, problem.ranks, problem.count};
  return {parted, rotated_order(problem.ranks, problem.root)};
}

void build(const Plan& plan, Builder& builder) {
  const Rank ranks = plan.problem.ranks;
  const Partition blocks(plan.problem.count, ranks);
  const Rotated steps(ranks, builder.me());
  for (Rank step = 1; step < ranks; ++step) {
    const Rank to = steps.rank(step);
    builder.send(to, builder.input(blocks.range(to)));
  }
  const Slice result = reduce_block(plan, blocks.range(builder.me()), builder);
  gathering(plan.problem).gather(result, {}, builder);
}

Cost cost(const Plan& plan) {
  const Count others = plan.problem.ranks - 1;
  const Count longest = Partition(plan.problem.count, plan.problem.ranks).longest();
  const Count exchanged = others % 2 == 0 ? 0 : longest;  // with the rank half way round
  return Cost{others, others * longest, longest, exchanged} + gathering(plan.problem).cost();
}

}  // namespace

LATECOMER_ROW(reduce, direct_send) {
  return {.scratch_messages = 3,
          .cost_formula = "(P-1 + ceil(log2 P)) alpha + 2 (P-1)/P m beta + (P-1)/P m gamma",
          .source = "Marendic 2012, equation 3",
          .build = build,
          .cost = cost};
}

}  // namespace latecomer::reduce
