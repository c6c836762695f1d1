// Dual-root tree: two binary trees in post-order, each over half of the ranks, and as low as
// possible. Segments are combined up both trees; the two roots exchange their sums, and the result
// goes down again while later segments still come up: doubly pipelined.
//
// A rank works in rounds: it swaps a segment for a result with each child, then with its parent.
// Its results are as many segments behind as it is levels below the root.
//
// Cost, S segments, P+2 = 2^h: (4h-3+3(S-1))(alpha + m/S beta), with the best S about 3 m beta for
// long vectors; besides, m/S gamma a level. Segments that do not wait for their receivers take
// about 3.5 rounds each, not 3. Keeps rank order. Use it for vectors of middle length, or long ones
// where the operator does not commute. Source: Traeff: A doubly-pipelined, dual-root
// reduction-to-all algorithm and implementation, arXiv:2109.12626 (2021), algorithm 1.
#include <algorithm>

#include "algorithms/allreduce/tree_walk.hpp"
#include "algorithms/segments.hpp"

namespace latecomer::allreduce {
namespace {

/// The ranks of the lower tree; the upper one has the rest.
Rank lower_ranks(Rank ranks) { return (ranks + 1) / 2; }

/// The transfers and combines from the start until the last rank of the lower tree, which is the
/// higher one, has the first segment. Children get the result in the order in which they send.
TreeSteps first_segment(Rank ranks) {
  const Rank root = lower_ranks(ranks) - 1;
  const auto up = [&](Rank rank) { return post_order_node(0, lower_ranks(ranks), rank); };
  const auto down = [&](Rank rank) {
    TreeNode node = up(rank);
    std::reverse(node.children.begin(), node.children.end());
    return node;
  };
  TreeSteps steps = steps_up(up, root);
  steps.transfers += 1 + steps_down(down, root);
  ++steps.combines;
  return steps;
}

/// The cost of all segments. Each one after the first takes the rounds of the busiest rank, which
/// receives it from all its partners and holds it up by two combines in a row.
Cost cost_of(const Problem& problem, const TreeSteps& first, Count segments) {
  const Rank ranks = problem.ranks;
  const Count more = std::min(segments, std::max<Count>(1, problem.count)) - 1;
  const Count partners = std::min<Count>(3, lower_ranks(ranks));
  // Two ranks combine one segment while they swap the next.
  const Count held_up = ranks <= 2 ? 0 : lower_ranks(ranks) > 4 ? 3 * more / 2 : more;
  const Count rounds = first.transfers + partners * more;
  const Count longest = Partition(problem.count, more + 1).longest();
  const Count exchanges = 1 + partners * more;
  return {rounds, rounds * longest, (first.combines + held_up) * longest, exchanges * longest};
}

/// The cost where segments are so short that they leave without waiting for their receivers: these
/// delay each other, most of all where combines bring ranks out of step. One round in seven is lost
/// then, as measured on the virtual network.
Cost of_eager_segments(const Problem& problem, Cost cost, Count segments, const Network& network) {
  const Rank lower = lower_ranks(problem.ranks);
  const Count longest = Partition(problem.count, segments).longest();
  const bool eager = longest * problem.element_bytes <= network.eager_limit;
  if (!eager || segments == 1 || problem.ranks == 3) return cost;
  const bool out_of_step = network.gamma > 0 && lower > 4;
  const Count lost = std::min<Count>(2, lower - 1) + (out_of_step ? (segments - 1) / 2 : 0);
  return cost + Cost{lost, lost * longest};
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const TreeSteps first = first_segment(problem.ranks);
  const auto time = [&](Count segments) {
    const Cost cost = cost_of(problem, first, segments);
    return hockney_time(problem, of_eager_segments(problem, cost, segments, knowledge.network),
                        knowledge.network);
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

  /// In a round a segment comes up from every child and a result goes down to it, and likewise with
  /// the parent. A result is as many rounds behind as this rank is levels below its root.
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

  /// The number of levels from this rank up to the root of its tree.
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

  /// The segment's range; an empty one before the first and after the last segment.
  [[nodiscard]] Range segment(Count number) const {
    return number < 0 || number >= segments_ ? Range{} : parts_.range(number);
  }

  /// Exchanges the roots' sums: each root combines the same two, the lower ranks' on the left.
  void exchange(Range block, const Slice& sum) {
    if (walk_.node().children.empty()) {
      builder_.send_in_turn(dual_, builder_.input(block), paced_by_);
      builder_.receive_and_fold_in_order(dual_, block,
                                         in_lower_ ? Received::right : Received::left);
      // With three ranks the other root also has a child, whose transfer must not lose its port.
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
  return cost_of(plan.problem, first_segment(plan.problem.ranks), plan.parameters.at("segments"));
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
          .informs_all = always_informs};
}

}  // namespace latecomer::allreduce
