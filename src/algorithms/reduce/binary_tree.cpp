// Binary tree: segments are combined along a post-order tree, in rank order; every rank receives
// from at most two.
//
// Cost, S segments, P+1 = 2^h: (2(h-1)+2(S-1))(alpha + m/S beta) + h m/S gamma, about 2 m beta for
// long vectors. Use it for vectors of middle length. Where the operator does not commute the tree's
// root is the last rank, and another root gets each segment in one round more.
// Source: "binary tree reduction" of Marendic 2012; the tree is that of Traeff 2021.
#include <algorithm>
#include <cmath>

#include "algorithms/reduce/tree_fold.hpp"
#include "algorithms/segments.hpp"
#include "patterns/rotated.hpp"

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

/// How many segments enter a rank for each one of the vector, at most.
Count most_received(const Problem& problem) {
  const Tree tree(problem);
  const Count children = std::min<Count>(2, problem.ranks - 1);
  if (!tree.hands_over) return children;
  const auto below = tree.node(tree.places.position(problem.root)).children.size();
  return std::max(children, static_cast<Count>(below) + 1);
}

/// From the start until the root has the only segment.
Seconds one_segment(const Problem& problem, Seconds transfer, Seconds combine) {
  const Tree tree(problem);
  const auto node_of = [&](Rank place) { return tree.node(place); };
  return time_up(node_of, problem.ranks - 1, transfer, combine) + (tree.hands_over ? transfer : 0);
}

Seconds predict(const Problem& problem, Count segments, const Network& network) {
  const Count bytes = Partition(problem.count, segments).longest() * problem.element_bytes;
  const Seconds transfer = network.transfer(bytes);
  const Seconds combine = network.combining(bytes);
  const auto more = static_cast<double>((segments - 1) * most_received(problem));
  return one_segment(problem, transfer, combine) + more * std::max(transfer, combine);
}

Count segments_of(const Plan& plan) {
  return std::min(plan.parameters.at("segments"), std::max<Count>(1, plan.problem.count));
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const auto time = [&](Count segments) { return predict(problem, segments, knowledge.network); };
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
  const Problem& problem = plan.problem;
  const auto first = static_cast<Count>(std::llround(one_segment(problem, 1, 0)));
  const Count children = std::min<Count>(2, problem.ranks - 1);
  return {first + most_received(problem) * (segments_of(plan) - 1), problem.count,
          children * problem.count};
}

Seconds time(const Plan& plan, const Network& network) {
  return predict(plan.problem, segments_of(plan), network);
}

}  // namespace

LATECOMER_ROW(reduce, binary_tree) {
  return {.scratch_messages = 3,
          .parameters = {segments_parameter(kBestSegments)},
          .cost_formula = "(2(h-1)+2(S-1))(alpha + m/S beta) + h m/S gamma for P+1 = 2^h",
          .source = "Marendic 2012, section 2.1 (binary tree)",
          .fill_plan = fill_plan,
          .build = build,
          .cost = cost,
          .time = time};
}

}  // namespace latecomer::reduce
