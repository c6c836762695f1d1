// Pipelined tree: one binary tree in post-order. Segments are combined up to its root; when the
// whole result is there, it is handed down in segments: a pipelined reduce, then a pipelined
// broadcast, which do not overlap.
//
// Cost, S segments, P+1 = 2^h: (4(h-1)+4(S-1))(alpha + m/S beta), with the best S about 4 m beta
// for long vectors, and m/S gamma a level. What dual_root is measured against; keeps rank order.
// Source: Traeff 2021 (see dual_root), "User-Allreduce1", which counts h from one more.
#include <algorithm>
#include <cmath>

#include "algorithms/allreduce/prices.hpp"
#include "algorithms/allreduce/tree_walk.hpp"
#include "algorithms/segments.hpp"

namespace latecomer::allreduce {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const PostOrderTree tree(plan.problem.ranks);
  const auto time = [&](Count segments) {
    return tree.time(plan.problem, segments, knowledge.network);
  };
  plan.parameters.try_emplace("segments", best_segments(plan.problem.count, time));
}

void build(const Plan& plan, Builder& builder) {
  const Range all{0, plan.problem.count};
  const Count segments = plan.parameters.at("segments");
  const Partition parts(plan.problem.count, segments);
  TreeWalk walk(builder, post_order_node(0, plan.problem.ranks, builder.me()), all);
  for (Count s = 0; s < segments; ++s) walk.up(parts.range(s));
  walk.turn();
  for (Count s = 0; s < segments; ++s) walk.down(parts.range(s));
}

Cost cost(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  const PostOrderTree tree(ranks);
  const Count children = tree.most_children();
  const auto first = static_cast<Count>(std::llround(tree.one_segment(1, 0)));
  // The busiest sender is the root or its child with more ranks below.
  const Count below = std::min<Count>(3, ranks / 2);
  return {first + 2 * children * (plan.parameters.at("segments") - 1),
          std::max(children, below) * plan.problem.count, children * plan.problem.count};
}

Seconds time(const Plan& plan, const Network& network) {
  return PostOrderTree(plan.problem.ranks)
      .time(plan.problem, plan.parameters.at("segments"), network);
}

}  // namespace

LATECOMER_ROW(allreduce, pipelined_tree) {
  return {.scratch_messages = 2,
          .parameters = {segments_parameter(kBestSegments)},
          .cost_formula = "(4(h-1)+4(S-1))(alpha + m/S beta) + h m/S gamma for P+1 = 2^h",
          .source = "Traeff 2021, section 2 (User-Allreduce1)",
          .fill_plan = fill_plan,
          .build = build,
          .cost = cost,
          .time = time,
          .tells = always_tells};
}

}  // namespace latecomer::allreduce
