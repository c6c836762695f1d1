// Binomial tree: in each round all ranks that have the vector send it to one that has not.
//
// Cost: ceil(log2 P)(alpha + m beta). The fewest rounds; use it for short vectors.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), section 3.2.
#include "algorithms/bcast/rows.hpp"
#include "patterns/powers.hpp"
#include "patterns/rotated.hpp"

namespace latecomer::bcast {
namespace {

void complete(Plan& /*plan*/, const Knowledge& /*knowledge*/) {}

void build(const Plan& plan, Builder& builder) {
  const Rotated tree(plan.problem.ranks, plan.problem.root);
  const TreeNode node = binomial_node(plan.problem.ranks, tree.position(builder.me()));
  const Range all{0, plan.problem.count};
  const Slice vector = node.root() ? builder.input(all) : builder.output(all);
  if (!node.root()) builder.recv(tree.rank(node.parent), vector);
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
    builder.send_in_turn(tree.rank(child->rank), vector);
  }
}

Cost cost(const Plan& plan) {
  const Count levels = ceil_log2(plan.problem.ranks);
  return {levels, levels * plan.problem.count, 0};
}

Seconds time(const Plan& plan, const Network& network) {
  const auto node_of = [&](Rank rank) { return binomial_node(plan.problem.ranks, rank); };
  return time_down(node_of, 0, network.transfer(plan.problem.bytes()));
}

}  // namespace

Algorithm binomial() {
  return {.name = "binomial",
          .collective = Collective::bcast,
          .kind = Kind::program,
          .arrival_aware = false,
          .commutative_only = false,
          .scratch_messages = 0,
          .parameters = {},
          .cost_formula = "ceil(log2 P)(alpha + m beta)",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .complete = complete,
          .build = build,
          .cost = cost,
          .time = time};
}

}  // namespace latecomer::bcast
