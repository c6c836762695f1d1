// Sorted binomial (SBN): a binomial tree in which early ranks stand inside, in large subtrees,
// which are served first, and late ranks are leaves that are served last. With background progress
// (BSBN) a rank's thread takes and hands on parts before it arrives.
//
// Cost: ceil(log2 P) alpha + (P-1)/P m beta at zero delay. Use it for short parts.
// Source: Proficz 2020 (Cluster Computing 23), SBN and BSBN, as described in Proficz 2021; the
// positions are latecomer's own.
#include "algorithms/moving/replay.hpp"
#include "algorithms/packed.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"
#include "patterns/powers.hpp"
#include "schedule/builder.hpp"

namespace latecomer::scatter {
namespace {

using moving::Moves;

/// A rank's children in the order in which it serves them: the largest subtree first.
std::vector<Rank> children(Rank ranks, Rank position) {
  std::vector<Rank> all;
  for (const TreeNode::Child& child : binomial_node(ranks, position).children) {
    all.push_back(child.rank);
  }
  std::reverse(all.begin(), all.end());
  return all;
}

/// Positions as they are reached from the root, each before its subtree.
void visit(Rank ranks, Rank position, std::vector<Rank>& visited) {
  visited.push_back(position);
  for (const Rank child : children(ranks, position)) visit(ranks, child, visited);
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Rank ranks = plan.problem.ranks;
  std::vector<Rank> sorted = order_by_arrival(ranks, knowledge.arrivals);
  const auto root = std::find(sorted.begin(), sorted.end(), plan.problem.root);
  std::rotate(sorted.begin(), root, root + 1);
  std::vector<Rank> visited;
  visit(ranks, 0, visited);
  plan.order.resize(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) plan.order[visited[i]] = sorted[i];
}

void add_subtree(Moves& all, const PackedTree& tree, Rank ranks, Rank position) {
  for (const Rank child : children(ranks, position)) {
    moving::add(all,
                {tree.rank(position), tree.rank(child), tree.packed(child), position == 0, true});
  }
  for (const Rank child : children(ranks, position)) add_subtree(all, tree, ranks, child);
}

Moves moves(const Plan& plan, Rank /*of*/) {
  Moves all;
  add_subtree(all, PackedTree(plan.problem, plan.order), plan.problem.ranks, 0);
  return all;
}

/// The root's: a subtree's parts are put together in scratch, unless there is only one.
void hand_out(const PackedTree& tree, Rank ranks, Builder& builder) {
  for (const Rank child : children(ranks, 0)) {
    const Range all = tree.packed(child);
    if (tree.end(child) == child + 1) {
      builder.send_in_turn(tree.rank(child), builder.input(tree.part(child)));
      continue;
    }
    const Slice packed = builder.scratch(all.count);
    for (Rank at = child; at < tree.end(child); ++at) {
      const Range here = tree.packed(at, at + 1);
      builder.copy(builder.input(tree.part(at)), packed.part(here.begin - all.begin, here.count));
    }
    builder.send_in_turn(tree.rank(child), packed);
  }
  builder.copy(builder.input(tree.part(0)), builder.output(tree.part(0)));
}

void hand_on(const PackedTree& tree, Rank ranks, Rank me, Builder& builder) {
  const Rank parent = tree.rank(tree.node(me).parent);
  const Range all = tree.packed(me);
  const Slice own = builder.output(tree.part(me));
  const bool direct = tree.end(me) == me + 1 && !builder.background();
  if (direct) return builder.recv(parent, own);
  const Slice held = builder.scratch(all.count);
  builder.recv(parent, held);
  for (const Rank child : children(ranks, me)) {
    const Range range = tree.packed(child);
    builder.send_in_turn(tree.rank(child), held.part(range.begin - all.begin, range.count));
  }
  builder.copy(held.part(0, own.count), own);
}

void build(const Plan& plan, Builder& builder) {
  const PackedTree tree(plan.problem, plan.order);
  const Rank me = tree.position(builder.me());
  const Rank ranks = plan.problem.ranks;
  me == 0 ? hand_out(tree, ranks, builder) : hand_on(tree, ranks, me, builder);
}

Cost cost(const Plan& plan) {
  const Problem& problem = plan.problem;
  return {ceil_log2(problem.ranks), problem.count - problem.part(problem.root).count, 0};
}

}  // namespace

LATECOMER_ROW(scatter, sorted_binomial) {
  return {.arrival_aware = true,
          .cost_formula = "ceil(log2 P) alpha + (P-1)/P m beta at zero delay",
          .source = "Proficz 2020 (SBN; with background progress BSBN)",
          .fill_plan = fill_plan,
          .build = build,
          .check = check_root_first,
          .cost = cost,
          .time = moving::time_of<moves>,
          .time_after_last = moving::time_after_last_of<moves>};
}

}  // namespace latecomer::scatter
