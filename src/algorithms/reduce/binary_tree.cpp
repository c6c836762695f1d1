// Binary tree: segments are combined along a post-order tree, in rank order; every rank receives
// from at most two.
//
// Cost, S segments, P+1 = 2^h: (2(h-1)+2(S-1))(alpha + m/S beta) + h m/S gamma, about 2 m beta for
// long vectors. Use it for vectors of middle length. Where the operator does not commute the tree's
// root is the last rank, and another root receives each segment in one round more.
// Source: "binary tree reduction" of Marendic 2012; the tree is that of Traeff 2021.
#include <algorithm>

#include "algorithms/reduce/tree_fold.hpp"
#include "algorithms/segments.hpp"
#include "patterns/trees.hpp"

namespace latecomer::reduce {
namespace {

/// The ranks by their places in the tree, whose root is the last place.
struct Tree {
  explicit Tree(const Problem& problem)
      : ranks(problem.ranks),
        places(ranks, problem.commutative ? problem.root + 1 : 0),
        hands_over(places.rank(ranks - 1) != problem.root) {}

  [[nodiscard]] TreeNode node(Rank place) const { return post_order_node(0, ranks, place); }
  [[nodiscard]] Rank top() const { return places.rank(ranks - 1); }

  Rank ranks;
  Rotated places;
  bool hands_over;  // the result, to the root
};

/// The most segments that a rank receives for each one of the vector.
Count most_received(const Problem& problem) {
  const Tree tree(problem);
  const Count children = std::min<Count>(2, problem.ranks - 1);
  if (!tree.hands_over) return children;
  const auto below = tree.node(tree.places.position(problem.root)).children.size();
  return std::max(children, static_cast<Count>(below) + 1);
}

/// The transfers and combines of the first segment.
TreeSteps first_segment(const Problem& problem) {
  const Tree tree(problem);
  TreeSteps steps = steps_up([&](Rank place) { return tree.node(place); }, problem.ranks - 1);
  steps.transfers += tree.hands_over ? 1 : 0;
  return steps;
}

Cost cost_of(const Problem& problem, const TreeSteps& first, Count segments) {
  const Count more = std::min(segments, std::max<Count>(1, problem.count)) - 1;
  const Count rounds = first.transfers + more * most_received(problem);
  const Count longest = Partition(problem.count, more + 1).longest();
  return {rounds, rounds * longest, first.combines * longest};
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const TreeSteps first = first_segment(problem);
  const auto time = [&](Count segments) {
    return hockney_time(problem, cost_of(problem, first, segments), knowledge.network);
  };
  plan.parameters.try_emplace("segments", best_segments(problem.count, time));
}

void build_segment(const Problem& problem, Range segment, Builder& builder) {
  const Tree tree(problem);
  const TreeNode node = tree.node(tree.places.position(builder.me()));
  TreeFold fold(builder, segment, builder.me() == problem.root && node.root());
  fold.own();
  for (const TreeNode::Child& child : node.children) {
    const Received side = child.left ? Received::left : Received::right;
    fold.receive(tree.places.rank(child.rank), side, child == node.children.back());
  }
  if (!node.root()) fold.send(tree.places.rank(node.parent));
  if (tree.hands_over) fold.hand_over(tree.top(), problem.root);
  if (builder.me() == problem.root) fold.finish();
}

void build(const Plan& plan, Builder& builder) {
  const Count segments = plan.parameters.at("segments");
  const Partition parts(plan.problem.count, segments);
  for (Count s = 0; s < segments; ++s) build_segment(plan.problem, parts.range(s), builder);
}

Cost cost(const Plan& plan) {
  return cost_of(plan.problem, first_segment(plan.problem), plan.parameters.at("segments"));
}

}  // namespace

LATECOMER_ROW(reduce, binary_tree) {
  return {.scratch_messages = 3,
          .parameters = {segments_parameter(kBestSegments)},
          .cost_formula = "(2(h-1)+2(S-1))(alpha + m/S beta) + h m/S gamma for P+1 = 2^h",
          .source = "Marendic 2012, section 2.1 (binary tree)",
          .fill_plan = fill_plan,
          .build = build,
          .cost = cost};
}

}  // namespace latecomer::reduce
