// Binomial tree: in each round half of the ranks that still have a partial result send it to
// another such rank.
//
// Cost: ceil(log2 P)(alpha + m beta + m gamma). The fewest rounds; use it for short vectors. Where
// the operator does not commute the tree keeps rank order: its root is rank 0, and another root
// receives the result in one round more.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), section 3.4; the baseline of Marendic 2012.
#include "algorithms/reduce/tree_fold.hpp"
#include "algorithms/row.hpp"
#include "patterns/powers.hpp"
#include "patterns/trees.hpp"

namespace latecomer::reduce {
namespace {

/// The rank at the tree's root.
Rank tree_root(const Problem& problem) { return problem.commutative ? problem.root : 0; }

void build(const Plan& plan, Builder& builder) {
  const Problem& problem = plan.problem;
  const Rotated tree(problem.ranks, tree_root(problem));
  const TreeNode node = binomial_node(problem.ranks, tree.position(builder.me()));
  TreeFold fold(builder, {0, problem.count}, builder.me() == problem.root && node.root());
  fold.own();
  for (const TreeNode::Child& child : node.children) {
    fold.receive(tree.rank(child.rank), Received::right, child == node.children.back());
  }
  if (!node.root()) fold.send(tree.rank(node.parent));
  if (tree_root(problem) != problem.root) fold.hand_over(tree_root(problem), problem.root);
  if (builder.me() == problem.root) fold.finish();
}

Cost cost(const Plan& plan) {
  const Problem& problem = plan.problem;
  const Count levels = ceil_log2(problem.ranks);
  const Count rounds = levels + (tree_root(problem) == problem.root ? 0 : 1);
  return {rounds, rounds * problem.count, levels * problem.count};
}

}  // namespace

LATECOMER_ROW(reduce, binomial) {
  return {.scratch_messages = 3,
          .cost_formula = "ceil(log2 P)(alpha + m beta + m gamma)",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .build = build,
          .cost = cost};
}

}  // namespace latecomer::reduce
