// Pipelined tree: one binary tree in post-order. Segments are combined up to its root; when the
// whole result is there, the root sends it down in segments: a pipelined reduce, then a pipelined
// broadcast, which do not overlap.
//
// Cost, S segments, P+1 = 2^h: (4(h-1)+4(S-1))(alpha + m/S beta), with the best S about 4 m beta
// for long vectors, and m/S gamma a level. The baseline for dual_root; keeps rank order.
// Source: Traeff 2021 (see dual_root), "User-Allreduce1", which counts h from one more.
#include <algorithm>

#include "algorithms/allreduce/tree_walk.hpp"
#include "algorithms/segments.hpp"

namespace latecomer::allreduce {
namespace {

/// The transfers and combines of the first segment, up and down.
TreeSteps first_segment(Rank ranks) {
  const auto node_of = [&](Rank rank) { return post_order_node(0, ranks, rank); };
  TreeSteps steps = steps_up(node_of, ranks - 1);
  steps.transfers += steps_down(node_of, ranks - 1);
  return steps;
}

/// Each segment after the first enters the busiest rank from each child, and leaves it to each.
Cost cost_of(const Problem& problem, const TreeSteps& first, Count segments) {
  const Count more = std::min(segments, std::max<Count>(1, problem.count)) - 1;
  const Count children = std::min<Count>(2, problem.ranks - 1);
  const Count rounds = first.transfers + 2 * children * more;
  const Count longest = Partition(problem.count, more + 1).longest();
  return {rounds, rounds * longest, first.combines * longest};
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const TreeSteps first = first_segment(plan.problem.ranks);
  const auto time = [&](Count segments) {
    return hockney_time(plan.problem, cost_of(plan.problem, first, segments), knowledge.network);
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
  return cost_of(plan.problem, first_segment(plan.problem.ranks), plan.parameters.at("segments"));
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
          .informs_all = always_informs};
}

}  // namespace latecomer::allreduce
