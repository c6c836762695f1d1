// Dual-root tree: two binary trees in post-order, each over half of the ranks, so balanced that
// they are as low as can be. Segments are combined up both trees; the two roots exchange their
// sums, and the result goes down again while later segments still come up: doubly pipelined.
//
// Cost, S segments, P+2 = 2^h: (4h-3+3(S-1))(alpha + m/S beta), with the best S about 3 m beta for
// long vectors, and m/S gamma a level; that is with all ranks in step. Where they are not, ports
// wait for each other, and a segment takes about 3.6 rounds instead of 3. Keeps rank order. Use it
// for vectors of middle length, or long ones where the operator does not commute. Source: Traeff: A
// doubly-pipelined, dual-root reduction-to-all algorithm and implementation, arXiv:2109.12626
// (2021), algorithm 1.
#include <algorithm>
#include <cmath>

#include "algorithms/allreduce/rows.hpp"
#include "algorithms/allreduce/tree_walk.hpp"
#include "patterns/partition.hpp"
#include "patterns/pipeline.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allreduce {
namespace {

/// The ranks of the lower tree; the upper one has the rest.
Rank lower_ranks(Rank ranks) { return (ranks + 1) / 2; }

/// From the start to the last rank's first segment; the lower tree is the higher one.
Seconds first_segment(Rank ranks, Seconds transfer, Seconds combine) {
  const Rank lower = lower_ranks(ranks);
  const auto node_of = [&](Rank rank) { return post_order_node(0, lower, rank); };
  return time_up(node_of, lower - 1, transfer, combine) + transfer + combine +
         time_down(node_of, lower - 1, transfer);
}

/// The messages of a segment that the busiest rank receives.
Count partners(Rank ranks) { return std::min<Count>(3, lower_ranks(ranks)); }

/// Rounds beyond the closed form until segments up and down have found their places, in step.
Count settling(Rank ranks, Count segments) {
  return std::min<Count>(Count{2} * floor_log2(lower_ranks(ranks)) + 1, 2 * (segments - 1));
}

/// The second segment's way is longer than the first one's: it meets others.
constexpr double kStart = 1;

/// Rounds of one segment more. Combines bring ports out of step; then a rank finds its neighbours'
/// ports taken now and then: on the virtual network 3.57 rounds, not 3, whatever P.
double step(Rank ranks) {
  if (ranks <= 3) return static_cast<double>(partners(ranks));
  return partners(ranks) == 2 ? 2.5 : 3.57;
}

void complete(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const double more = step(problem.ranks);
  const double height = floor_log2(lower_ranks(problem.ranks));
  const Pipeline pipeline{first_segment(problem.ranks, 1, 0) + kStart - more, more, height + 1};
  plan.parameters.try_emplace("segments",
                              pipeline.segments(problem.bytes(), problem.count, knowledge.network));
}

/// One rank's part.
class DualRoot {
 public:
  DualRoot(const Plan& plan, Builder& builder)
      : builder_(builder),
        lower_(lower_ranks(plan.problem.ranks)),
        in_lower_(builder.me() < lower_),
        dual_((in_lower_ ? plan.problem.ranks : lower_) - 1),
        walk_(builder, node(plan.problem.ranks), {0, plan.problem.count}) {}

  void build(Range block) {
    if (!walk_.node().root()) {
      walk_.up(block);
      walk_.down(block);
    } else {
      exchange(block);
      walk_.hand_out(builder_.output(block));
    }
  }

 private:
  [[nodiscard]] TreeNode node(Rank ranks) const {
    return in_lower_ ? post_order_node(0, lower_, builder_.me())
                     : post_order_node(lower_, ranks - lower_, builder_.me());
  }

  /// Both roots combine the same two sums, the lower ranks' on the left.
  void exchange(Range block) {
    if (walk_.node().children.empty()) {
      builder_.send(dual_, builder_.input(block));
      builder_.receive_and_fold(dual_, block, in_lower_ ? Received::right : Received::left, true);
      return;
    }
    const Slice sum = walk_.combine(block);
    const Slice goal = builder_.output(block);
    const Slice other = sum == goal ? walk_.landing(0, block) : goal;
    builder_.send(dual_, sum);
    builder_.recv(dual_, other);
    if (in_lower_) {
      builder_.combine(sum, other, Into::right);
      builder_.copy(other, goal);
    } else if (builder_.commutative()) {
      builder_.combine(other, sum, Into::left);
    } else {
      builder_.combine(other, sum, Into::right);
      builder_.copy(sum, goal);
    }
  }

  Builder& builder_;
  Rank lower_;
  bool in_lower_;
  Rank dual_;
  TreeWalk walk_;
};

void build(const Plan& plan, Builder& builder) {
  const Range all{0, plan.problem.count};
  if (plan.problem.ranks == 1) return builder.copy(builder.input(all), builder.output(all));
  const Count segments = plan.parameters.at("segments");
  const Partition parts(plan.problem.count, segments);
  DualRoot mine(plan, builder);
  for (Count s = 0; s < segments; ++s) mine.build(parts.range(s));
}

/// The rounds as if ports never made each other wait.
Cost cost(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  if (ranks == 1) return {};
  const Count segments = plan.parameters.at("segments");
  const Count each = partners(ranks) * plan.problem.count;
  const auto first = static_cast<Count>(std::llround(first_segment(ranks, 1, 0)));
  return {first + settling(ranks, segments) + partners(ranks) * (segments - 1), each, each};
}

Seconds time(const Plan& plan, const Network& network) {
  const Rank ranks = plan.problem.ranks;
  if (ranks == 1) return 0;
  const SegmentTime segment(plan, network);
  const Seconds each = std::max(step(ranks) * segment.transfer,
                                static_cast<double>(partners(ranks)) * segment.combine);
  return first_segment(ranks, segment.transfer, segment.combine) +
         static_cast<double>(segment.count - 1) * each;
}

}  // namespace

Algorithm dual_root() {
  return {.name = "dual_root",
          .collective = Collective::allreduce,
          .kind = Kind::program,
          .arrival_aware = false,
          .commutative_only = false,
          .scratch_messages = 2,
          .parameters = {{"segments", "in all; default: the best for the pipeline", 1, {}}},
          .cost_formula = "(4h-3+3(S-1))(alpha + m/S beta) + h m/S gamma for P+2 = 2^h",
          .source = "Traeff 2021, algorithm 1",
          .complete = complete,
          .build = build,
          .cost = cost,
          .time = time};
}

}  // namespace latecomer::allreduce
