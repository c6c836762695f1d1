// Two trees: each of two in-order binary trees reduces half of the vector to its root and hands the
// result back, in segments. The second tree is the mirror image of the first, so that every rank
// is an inner node in one and a leaf in the other, and all links carry the same load. The last of
// an odd number of ranks stands above both roots.
//
// The broadcast of a half begins when it is reduced. Neighbours that are leaves of each other use
// one channel for partial and for final segments of different trees; were these mixed, partial ones
// would wait for final ones.
//
// Cost, S segments, trees of height h: about (4h+2(S-2))(alpha + m/S beta), with the best S about
// 2 m beta for long vectors, and m/S gamma a level; that is with all ranks in step. Where they are
// not, ports wait for each other, and a segment takes 2.2 to 2.8 rounds instead of 2. Use it for
// long vectors and operators that do not commute. Source: Sanders, Speck, Traeff: Two-tree
// algorithms for full bandwidth broadcast, reduction and scan, Parallel Computing 35 (2009).
#include <algorithm>
#include <cmath>

#include "algorithms/allreduce/rows.hpp"
#include "algorithms/allreduce/tree_walk.hpp"
#include "patterns/partition.hpp"
#include "patterns/pipeline.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allreduce {
namespace {

/// The ranks of the trees, without the one above both.
Rank in_trees(Rank ranks) { return ranks == 1 ? 1 : ranks - ranks % 2; }

/// The place of `rank` in the first tree, or in the second one.
TreeNode place(Rank ranks, Rank rank, bool second) {
  const Rank inside = in_trees(ranks);
  const auto node_of = second ? mirrored_in_order_node : in_order_node;
  if (rank < inside) {
    TreeNode node = node_of(inside, rank);
    if (node.root() && inside < ranks) node.parent = inside;
    return node;
  }
  const Rank root = in_order_root(inside);
  return {-1, {{second ? inside - 1 - root : root, true}}};
}

/// From the start to the last rank's only segment, along the first tree alone.
Seconds one_segment(Rank ranks, Seconds transfer, Seconds combine) {
  const auto node_of = [&](Rank rank) { return place(ranks, rank, false); };
  const Rank root = in_trees(ranks) < ranks ? ranks - 1 : in_order_root(ranks);
  return time_up(node_of, root, transfer, combine) + time_down(node_of, root, transfer);
}

/// Rounds of one segment more, all ranks in step: one up and one down; two ranks swap two segments
/// in two rounds.
double ideal_step(Rank ranks) { return ranks == 2 ? 1 : 2; }

/// The same on the virtual network. Combines bring ports out of step; then a rank finds its
/// neighbours' ports taken now and then: 2.2 to 2.8 rounds, depending on P.
double step(Rank ranks) {
  if (ranks == 2) return 1;
  return ranks <= 4 ? 2.2 : ranks <= 8 ? 2.4 : 2.6;
}

/// Later segments' way is longer than the first ones': they meet others.
constexpr double kStart = 1;

/// Rounds beyond the closed form until segments of both trees have found their places, in step.
Count settling(Rank ranks, Count segments) {
  if (ranks == 2) return 0;
  return std::min<Count>(Count{2} * floor_log2(in_trees(ranks)), std::max<Count>(0, segments - 1));
}

void complete(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const Rank ranks = problem.ranks;
  const double height = floor_log2(in_trees(ranks));
  const double fill = one_segment(ranks, 1, 0) + kStart - 2 * step(ranks);
  const Pipeline pipeline{fill, step(ranks), height + 1};
  const Count best = pipeline.segments(problem.bytes(), problem.count, knowledge.network);
  plan.parameters.try_emplace("segments", best + best % 2);  // both trees get the same
}

void build(const Plan& plan, Builder& builder) {
  const Rank ranks = plan.problem.ranks;
  const Count segments = plan.parameters.at("segments");
  const Partition parts(plan.problem.count, segments);
  const Count half = (segments + 1) / 2;
  TreeWalk first(builder, place(ranks, builder.me(), false), parts.range(0, half));
  TreeWalk second(builder, place(ranks, builder.me(), true), parts.range(half, segments));
  for (Count s = 0; s < half; ++s) {
    first.up(parts.range(s));
    if (half + s < segments) second.up(parts.range(half + s));
  }
  first.turn();
  second.turn();
  for (Count s = 0; s < half; ++s) {
    first.down(parts.range(s));
    if (half + s < segments) second.down(parts.range(half + s));
  }
}

/// What `rank` sends and combines, the rounds as if ports never made each other wait.
Cost cost(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  const Count segments = plan.parameters.at("segments");
  if (ranks == 1) return {};
  const Count first = Partition(plan.problem.count, segments).begin((segments + 1) / 2);
  const Count halves[2] = {first, plan.problem.count - first};
  const double rounds = one_segment(ranks, 1, 0) +
                        ideal_step(ranks) * static_cast<double>(std::max<Count>(0, segments - 2));
  Cost cost{static_cast<Count>(std::llround(rounds)) + settling(ranks, segments), 0, 0};
  for (Rank rank = 0; rank < ranks; ++rank) {
    Cost mine;
    for (const bool second : {false, true}) {
      const TreeNode node = place(ranks, rank, second);
      const auto children = static_cast<Count>(node.children.size());
      mine.sent += (children + (node.root() ? 0 : 1)) * halves[second ? 1 : 0];
      mine.combined += children * halves[second ? 1 : 0];
    }
    cost.sent = std::max(cost.sent, mine.sent);
    cost.combined = std::max(cost.combined, mine.combined);
  }
  return cost;
}

Seconds time(const Plan& plan, const Network& network) {
  const SegmentTime segment(plan, network);
  const Rank ranks = segment.ranks;
  if (ranks == 1) return 0;
  const auto more = static_cast<double>(std::max<Count>(0, segment.count - 2));
  const double start = segment.count > 1 && ranks > 2 ? kStart : 0;
  return one_segment(ranks, segment.transfer, segment.combine) + start * segment.transfer +
         more * step(ranks) / 2 * (std::max(segment.transfer, segment.combine) + segment.transfer);
}

}  // namespace

Algorithm two_tree() {
  return {.name = "two_tree",
          .collective = Collective::allreduce,
          .kind = Kind::program,
          .arrival_aware = false,
          .commutative_only = false,
          .scratch_messages = 2,
          .parameters = {{"segments",
                          "in all, half of them along each tree; default: the best for"
                          " the pipeline",
                          1,
                          {}}},
          .cost_formula = "about (4h+2(S-2))(alpha + m/S beta) + h m/S gamma, h = log2 P",
          .source = "Sanders, Speck and Traeff 2009",
          .complete = complete,
          .build = build,
          .cost = cost,
          .time = time};
}

}  // namespace latecomer::allreduce
