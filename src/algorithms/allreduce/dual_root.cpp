// Dual-root tree: two binary trees in post-order, each over half of the ranks, so balanced that
// they are as low as can be. Segments are combined up both trees; the two roots exchange their
// sums, and the result goes down again while later segments still come up: doubly pipelined.
//
// A rank works in rounds: it swaps a segment for a result with each child, then with its parent,
// and is as many results behind as it is below the root.
//
// Cost, S segments, P+2 = 2^h: (4h-3+3(S-1))(alpha + m/S beta), with the best S about 3 m beta for
// long vectors, and m/S gamma a level. Segments that do not wait for their receivers take about 3.5
// rounds each, not 3. Keeps rank order. Use it for vectors of middle length, or long ones where the
// operator does not commute. Source: Traeff: A doubly-pipelined, dual-root reduction-to-all
// algorithm and implementation, arXiv:2109.12626 (2021), algorithm 1.
#include <algorithm>
#include <cmath>

#include "algorithms/allreduce/tree_walk.hpp"
#include "algorithms/segments.hpp"

namespace latecomer::allreduce {
namespace {

/// The ranks of the lower tree; the upper one has the rest.
Rank lower_ranks(Rank ranks) { return (ranks + 1) / 2; }

/// The lower tree, which is the higher one. Children get the result in the order in which they
/// send.
struct LowerTree {
  explicit LowerTree(Rank ranks)
      : up([=](Rank rank) { return post_order_node(0, lower_ranks(ranks), rank); },
           lower_ranks(ranks) - 1),
        down(
            [=](Rank rank) {
              TreeNode node = post_order_node(0, lower_ranks(ranks), rank);
              std::reverse(node.children.begin(), node.children.end());
              return node;
            },
            lower_ranks(ranks) - 1) {}

  /// From the start to the last rank's first segment.
  [[nodiscard]] Seconds first_segment(Seconds transfer, Seconds combine) const {
    return up.time_up(transfer, combine) + transfer + combine + down.time_down(transfer);
  }

  TreeShape up, down;
};

/// The messages of a segment that the busiest rank receives.
Count partners(Rank ranks) { return std::min<Count>(3, lower_ranks(ranks)); }

/// One segment more in step: the busiest rank's rounds, and what its combines hold up two of them
/// in a row.
Seconds step(Rank ranks, const SegmentTime& segment) {
  // Two ranks combine one segment while they swap the next.
  const double combines = ranks <= 2 ? 0 : lower_ranks(ranks) > 4 ? 1.5 : 1;
  const auto rounds = static_cast<double>(partners(ranks));
  return rounds * std::max(segment.transfer + combines / rounds * segment.combine, segment.combine);
}

/// Segments so short that they leave without waiting for their receivers get into each other's way,
/// the more where combines bring ranks out of step: then one round in seven is lost.
Seconds eager_step(Rank ranks, const SegmentTime& segment) {
  const bool out_of_step = segment.combine > 0 && lower_ranks(ranks) > 4;
  return std::max(step(ranks, segment), out_of_step ? 3.5 * segment.transfer : 0);
}

Seconds predict(const Problem& problem, const LowerTree& tree, Count segments,
                const Network& network) {
  const Rank ranks = problem.ranks;
  const SegmentTime segment(problem, segments, network);
  const Seconds first = tree.first_segment(segment.transfer, segment.combine);
  const auto more = static_cast<double>(segment.count - 1);
  if (!segment.eager || more == 0) return first + more * step(ranks, segment);
  const Count waiting = ranks == 3 ? 0 : partners(ranks) - 1;  // of three, one keeps step
  const auto drain = static_cast<double>(waiting) * segment.transfer;
  return first + more * eager_step(ranks, segment) + drain;
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const LowerTree tree(problem.ranks);
  const auto time = [&](Count segments) {
    return predict(problem, tree, segments, knowledge.network);
  };
  plan.parameters.try_emplace("segments", best_segments(problem.count, time));
}

/// One rank's part.
class DualRoot {
 public:
  DualRoot(const Plan& plan, Builder& builder)
      : builder_(builder),
        ranks_(plan.problem.ranks),
        lower_(lower_ranks(plan.problem.ranks)),
        in_lower_(builder.me() < lower_),
        dual_((in_lower_ ? ranks_ : lower_) - 1),
        segments_(plan.parameters.at("segments")),
        parts_(plan.problem.count, segments_),
        walk_(builder, node(builder.me()), {0, plan.problem.count}) {}

  /// A round: a segment up from every child, a result down to each of them, and the same with the
  /// parent. A result is as many rounds behind as this rank is below its root.
  void build() {
    for (Count round = 0; round <= segments_ + depth_; ++round) {
      const Slice sum = walk_.combine(segment(round), segment(round - depth_ - 1));
      if (walk_.node().root()) {
        exchange(segment(round), sum);
      } else {
        builder_.send_in_turn(walk_.node().parent, sum, paced_by_);
        receive_result(segment(round - depth_));
      }
    }
  }

 private:
  [[nodiscard]] TreeNode node(Rank rank) const {
    return in_lower_ ? post_order_node(0, lower_, rank)
                     : post_order_node(lower_, ranks_ - lower_, rank);
  }

  /// Steps from this rank to the root of its tree.
  [[nodiscard]] Count depth() const {
    TreeNode at = walk_.node();
    Count steps = 0;
    for (; !at.root(); ++steps) at = node(at.parent);
    return steps;
  }

  void receive_result(Range block) {
    if (block.empty()) return;
    builder_.recv(walk_.node().parent, builder_.output(block));
    paced_by_ = builder_.last();
  }

  /// None before the first one and after the last one.
  [[nodiscard]] Range segment(Count number) const {
    return number < 0 || number >= segments_ ? Range{} : parts_.range(number);
  }

  /// Both roots combine the same two sums, the lower ranks' on the left.
  void exchange(Range block, const Slice& sum) {
    if (walk_.node().children.empty()) {
      builder_.send_in_turn(dual_, builder_.input(block), paced_by_);
      builder_.receive_and_fold_in_order(dual_, block,
                                         in_lower_ ? Received::right : Received::left);
      // Of three ranks the other root has a child besides: its port is not to be taken from it.
      if (ranks_ == 3 && !block.empty()) paced_by_ = builder_.last();
      return;
    }
    const Slice goal = builder_.output(block);
    const Slice other = sum == goal ? walk_.landing(0, block) : goal;
    builder_.send_in_turn(dual_, sum);
    builder_.recv(dual_, other);
    if (in_lower_) {
      builder_.combine(sum, other, Into::right);
      builder_.copy(other, goal);
    } else {
      builder_.combine(other, sum, Into::right);
      builder_.copy(sum, goal);
    }
  }

  Builder& builder_;
  Rank ranks_;
  Rank lower_;
  bool in_lower_;
  Rank dual_;
  Count segments_;
  Partition parts_;
  TreeWalk walk_;
  Count depth_ = depth();
  OpIndex paced_by_ = Builder::kNone;  // the parent's last result: its round is over
};

void build(const Plan& plan, Builder& builder) { DualRoot(plan, builder).build(); }

Cost cost(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  const Count each = partners(ranks) * plan.problem.count;
  const auto first = static_cast<Count>(std::llround(LowerTree(ranks).first_segment(1, 0)));
  return {first + partners(ranks) * (plan.parameters.at("segments") - 1), each, each};
}

Seconds time(const Plan& plan, const Network& network) {
  return predict(plan.problem, LowerTree(plan.problem.ranks), plan.parameters.at("segments"),
                 network);
}

}  // namespace

LATECOMER_ROW(allreduce, dual_root) {
  return {.scratch_messages = 2,
          .parameters = {segments_parameter(kBestSegments)},
          .cost_formula = "(4h-3+3(S-1))(alpha + m/S beta) + h m/S gamma for P+2 = 2^h",
          .source = "Traeff 2021, algorithm 1",
          .fill_plan = fill_plan,
          .build = build,
          .cost = cost,
          .time = time,
          .tells = always_tells};
}

}  // namespace latecomer::allreduce
