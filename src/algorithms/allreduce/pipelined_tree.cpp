// Pipelined tree: one binary tree in post-order. Segments are combined up to its root; when the
// whole result is there, it is handed down in segments: a pipelined reduce, then a pipelined
// broadcast, which do not overlap.
//
// Cost, S segments, P+1 = 2^h: (4(h-1)+4(S-1))(alpha + m/S beta), with the best S about 4 m beta
// for long vectors, and m/S gamma a level. What dual_root is measured against; keeps rank order.
// Source: Traeff 2021 (see dual_root), "User-Allreduce1", which counts h from one more.
#include <algorithm>
#include <cmath>

#include "algorithms/allreduce/tree_walk.hpp"
#include "algorithms/segments.hpp"

namespace latecomer::allreduce {
namespace {

WrittenTree tree_of(Rank ranks) {
  return {[&](Rank rank) { return post_order_node(0, ranks, rank); }, ranks - 1};
}

/// From the start to the last rank's only segment.
Seconds one_segment(const WrittenTree& tree, Seconds transfer, Seconds combine) {
  return tree.time_up(transfer, combine) + tree.time_down(transfer);
}

/// The children of the busiest rank.
Count most_children(Rank ranks) { return std::min<Count>(2, ranks - 1); }

/// A segment more: it enters the busiest rank from each child, and leaves it to each.
Seconds predict(const Problem& problem, const WrittenTree& tree, Count segments,
                const Network& network) {
  const SegmentTime segment(problem, segments, network);
  const auto more =
      static_cast<double>(segment.count - 1) * static_cast<double>(most_children(problem.ranks));
  return one_segment(tree, segment.transfer, segment.combine) +
         more * (std::max(segment.transfer, segment.combine) + segment.transfer);
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const WrittenTree tree = tree_of(problem.ranks);
  const auto time = [&](Count segments) {
    return predict(problem, tree, segments, knowledge.network);
  };
  plan.parameters.try_emplace("segments", best_segments(problem.count, time));
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
  const Count children = most_children(ranks);
  const auto first = static_cast<Count>(std::llround(one_segment(tree_of(ranks), 1, 0)));
  // The busiest sender is the root or its child with more ranks below.
  const Count below = std::min<Count>(3, ranks / 2);
  return {first + 2 * children * (plan.parameters.at("segments") - 1),
          std::max(children, below) * plan.problem.count, children * plan.problem.count};
}

Seconds time(const Plan& plan, const Network& network) {
  return predict(plan.problem, tree_of(plan.problem.ranks), plan.parameters.at("segments"),
                 network);
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
