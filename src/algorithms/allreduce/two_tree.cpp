// Two trees: each of two in-order binary trees reduces half of the vector to its root and sends the
// result back, in segments. The second tree is the mirror image of the first, so that every rank is
// an inner node in one and a leaf in the other, and all links carry the same load. If the number of
// ranks is odd, the last one stands above both roots.
//
// The broadcast of a half begins when it is reduced. Neighbours that are leaves of each other use
// one channel for partial and for final segments of different trees; were these mixed, partial ones
// would wait for final ones.
//
// Cost, S segments, trees of height h: about (4h+2(S-2))(alpha + m/S beta), with the best S about
// 2 m beta for long vectors, and m/S gamma a level: every rank works in the steps that two_trees
// gives it. Segments that do not wait for their receivers take up to 2.4 rounds each, not 2. Use it
// for long vectors and operators that do not commute. Source: Sanders, Speck, Traeff: Two-tree
// algorithms for full bandwidth broadcast, reduction and scan, Parallel Computing 35 (2009).
#include <algorithm>

#include "algorithms/allreduce/tree_walk.hpp"
#include "algorithms/row.hpp"
#include "algorithms/segments.hpp"
#include "base/partition.hpp"
#include "patterns/powers.hpp"
#include "patterns/trees.hpp"

namespace latecomer::allreduce {
namespace {

/// The number of segments along the first tree, which has one more if their number is odd.
Count half(Count segments) { return (segments + 1) / 2; }

/// Rounds up and down: the path of the first segment, then two rounds for each further segment of a
/// tree. Two ranks swap both trees' segments in one round; with three ranks the chains of segments
/// never meet.
Count rounds(Rank ranks, Count way, Count segments) {
  if (ranks == 2) return 2 * half(segments);
  return 2 * (ranks == 3 ? 3 : way) + 4 * (half(segments) - 1);
}

/// The cost where the whole vector goes up the first tree and down again.
Cost undivided(const Problem& problem, const TwoTrees& trees, Receiving receiving) {
  const auto node_of = [&](Rank rank) { return trees.node(rank, 0); };
  const Rank root = problem.ranks % 2 == 1 ? problem.ranks - 1 : in_order_root(problem.ranks);
  const TreeSteps up = steps_up(node_of, root, receiving);
  const Count rounds = up.transfers + steps_down(node_of, root);
  return {rounds, rounds * problem.count, up.combines * problem.count};
}

Cost cost_of(const Problem& problem, const TwoTrees& trees, Count segments) {
  const Rank ranks = problem.ranks;
  const Count count = std::min(segments, std::max<Count>(1, problem.count));
  if (count == 1) return undivided(problem, trees, Receiving::in_order);
  const Count longest = Partition(problem.count, count).longest();
  const Count transfers = rounds(ranks, trees.rounds_down(), count);
  // One combine for each level, and one that holds up each pair of segments on the way up; two
  // ranks combine while they swap the next segments.
  const Count held_up = ranks == 2 ? 0 : half(count) - 1;
  return {transfers, transfers * longest, (floor_log2(ranks) + held_up) * longest};
}

/// The cost where segments may be so short that they leave without waiting for their receivers.
/// These take ports from others: on the virtual network one round in five is lost after the first
/// segments.
Cost with_eager_segments(const Problem& problem, const TwoTrees& trees, Count segments,
                         const Network& network) {
  const Count longest = Partition(problem.count, segments).longest();
  const bool eager = longest * problem.element_bytes <= network.eager_limit;
  if (eager && segments == 1) return undivided(problem, trees, Receiving::as_they_come);
  const Cost cost = cost_of(problem, trees, segments);
  if (!eager || problem.ranks <= 4 || segments <= 2) return cost;
  const Count lost = 1 + (segments - 2) / 5;
  return cost + Cost{lost, lost * longest};
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const TwoTrees trees(problem.ranks);
  const Network& network = knowledge.network;
  const auto time = [&](Count segments) {
    return hockney_time(problem, with_eager_segments(problem, trees, segments, network), network);
  };
  const Count each = best_segments(problem.count / 2, [&](Count half) { return time(2 * half); });
  const Count both = std::min(2 * each, max_segments(problem.count));
  plan.parameters.try_emplace("segments", time(1) <= time(both) ? 1 : both);
}

/// One rank's part in both trees, in the order of the trees' steps.
class TwoWalks {
 public:
  TwoWalks(const Plan& plan, Builder& builder)
      : builder_(builder),
        segments_(plan.parameters.at("segments")),
        parts_(plan.problem.count, segments_),
        trees_(plan.problem.ranks),
        walks_{walk(0), walk(1)} {}

  void build() {
    in_turn(-1, [&](int tree, Range block) { up(walks_[tree], block); });
    for (TreeWalk& walk : walks_) walk.turn();
    in_turn(1, [&](int tree, Range block) { walks_[tree].down(block); });
  }

 private:
  [[nodiscard]] Count begin(int tree) const { return tree == 0 ? 0 : half(segments_); }
  [[nodiscard]] Count end(int tree) const { return tree == 0 ? half(segments_) : segments_; }
  [[nodiscard]] TreeWalk walk(int tree) const {
    return {builder_, trees_.node(builder_.me(), tree), parts_.range(begin(tree), end(tree))};
  }

  /// Calls `act` for every block of both trees, one in two steps each, in the order of the steps;
  /// `way` is 1 down the trees and -1 up.
  template <typename Act>
  void in_turn(int way, const Act& act) {
    const Count start[] = {way * trees_.step(builder_.me(), 0),
                           way * trees_.step(builder_.me(), 1)};
    const Count last = std::max(start[0], start[1]) + 2 * half(segments_);
    for (Count step = std::min(start[0], start[1]); step <= last; ++step) {
      for (const int tree : {0, 1}) {
        const Count since = step - start[tree];
        const Count block = begin(tree) + since / 2;
        if (since >= 0 && since % 2 == 0 && block < end(tree)) act(tree, parts_.range(block));
      }
    }
  }

  /// A leaf's block is ready from the start, but is sent only after the last receive in the other
  /// tree: this keeps the leaf in step.
  void up(TreeWalk& walk, Range block) {
    const Slice sum = walk.combine(block);
    if (!walk.node().children.empty()) received_ = walk.received();
    if (!walk.node().root()) builder_.send_in_turn(walk.node().parent, sum, received_);
  }

  Builder& builder_;
  Count segments_;
  Partition parts_;
  TwoTrees trees_;
  TreeWalk walks_[2];
  OpIndex received_ = Builder::kNone;
};

void build(const Plan& plan, Builder& builder) { TwoWalks(plan, builder).build(); }

Cost cost(const Plan& plan) {
  return cost_of(plan.problem, TwoTrees(plan.problem.ranks), plan.parameters.at("segments"));
}

}  // namespace

LATECOMER_ROW(allreduce, two_tree) {
  return {.scratch_messages = 2,
          .parameters = {{"segments",
                          "in all, half of them along each tree; default: the best for"
                          " the pipeline",
                          1,
                          {}}},
          .cost_formula = "about (4h+2(S-2))(alpha + m/S beta) + h m/S gamma, h = log2 P",
          .source = "Sanders, Speck and Traeff 2009",
          .fill_plan = fill_plan,
          .build = build,
          .cost = cost,
          .informs_all = always_informs};
}

}  // namespace latecomer::allreduce
