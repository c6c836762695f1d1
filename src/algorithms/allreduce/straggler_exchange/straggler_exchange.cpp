// Straggler exchange (StragglAR): all but the last rank to arrive reduce-scatter P-1 blocks among
// themselves, ahead of it. Then it exchanges one block a round with each of them, its own part for
// their sum, while they pass on the complete blocks.
//
// Cost: P - 2 + log2 P messages of m/(P-1) bytes after one rank that is late by the time of the
// vector or more, and m/(P-1) gamma: nearly the least that P-1 blocks allow. When all arrive
// together, P - 2 more for the reduce-scatter: more than the ring. Only for powers of two: other
// numbers of ranks are planned as prereduced_ring. Use it to compare with: early_owners serves any
// number of ranks, of late ones and of blocks, sorted_linear_tree shorter blocks.
//
// Source: Devraj, Ding, Vijaya Kumar, Kleinberg, Singh: Efficient AllReduce with Stragglers, arXiv
// 2505.23523 (2025). The rounds, the blocks and the order in which ranks meet the straggler are
// theirs; they search for the other partners round by round, here a shift register gives them
// (rounds.hpp).
#include <algorithm>
#include <bit>

#include "algorithms/allreduce/straggler_exchange/rounds.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/row.hpp"
#include "base/error.hpp"
#include "base/partition.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allreduce {
namespace {

/// True for a number of ranks that this algorithm serves; others get the pre-reduced ring.
bool exchanges(Rank ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

/// The last rank to arrive goes to the end, the others keep their order: plans differ only in the
/// last rank.
void fill_plan(Plan& plan, const Knowledge& knowledge) {
  if (!exchanges(plan.problem.ranks)) {
    plan.algorithm = "prereduced_ring";
    return find_algorithm(Collective::allreduce, plan.algorithm).fill_plan(plan, knowledge);
  }
  plan.order = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
  std::sort(plan.order.begin(), plan.order.end() - 1);
}

void check(const Plan& plan) {
  check_ordered(plan);
  if (exchanges(plan.problem.ranks)) return;
  throw Error("ranks", std::to_string(plan.problem.ranks), "a power of two");
}

/// One position's operations, round by round on both sides of each message.
class Walk {
 public:
  Walk(const Plan& plan, Builder& builder)
      : builder_(builder),
        order_(plan.order),
        early_(plan.problem.ranks - 1),
        blocks_(plan.problem.count, early_),
        me_(position_of(plan, builder.me())) {}

  void build() {
    builder_.pace_by_receivers();
    if (me_ < early_) reduce_scatter();
    const ExchangeRounds rounds(early_ + 1);
    for (Rank round = 0; round < rounds.count(); ++round) {
      const Exchange exchange = rounds.at(me_, round);
      const bool partial = round < early_ && (me_ == round || me_ == early_);
      partial ? complete_block(exchange) : hand_on(exchange);
    }
  }

 private:
  /// A ring: block c starts at position c + 1 and ends at c.
  void reduce_scatter() {
    const Rank next = order_[(me_ + 1) % early_];
    const Rank previous = order_[(me_ + early_ - 1) % early_];
    sum_ = builder_.input(before(1));
    for (Rank step = 0; step + 1 < early_; ++step) {
      builder_.send_in_turn(next, sum_);
      sum_ = builder_.receive_and_fold(previous, before(step + 2), Received::left, false);
    }
  }
  [[nodiscard]] Range before(Rank steps) const {
    return blocks_.range((me_ + early_ - steps % early_) % early_);
  }

  /// On both sides the early ranks' sum stands on the left: then no rank has to wait until its own
  /// message has left.
  void complete_block(const Exchange& exchange) {
    const Range range = blocks_.range(exchange.sent);
    const Rank partner = order_[exchange.partner];
    const bool own = me_ == early_ || early_ == 1;  // otherwise the sum lies in scratch
    builder_.send_in_turn(partner, own ? builder_.input(range) : sum_);
    if (own) {
      const Received side = me_ == early_ ? Received::left : Received::right;
      builder_.receive_and_fold_in_order(partner, range, side);
    } else {
      builder_.recv(partner, builder_.output(range));
      builder_.combine(sum_, builder_.output(range), Into::right);
    }
  }

  void hand_on(const Exchange& exchange) {
    const Rank partner = order_[exchange.partner];
    if (exchange.sent != kNoBlock) builder_.send_in_turn(partner, output(exchange.sent));
    if (exchange.received != kNoBlock) builder_.recv(partner, output(exchange.received));
  }
  [[nodiscard]] Slice output(Rank block) const { return builder_.output(blocks_.range(block)); }

  Builder& builder_;
  const std::vector<Rank>& order_;
  Rank early_;  // the number of ranks except the last to arrive
  Partition blocks_;
  Rank me_;
  Slice sum_;  // of all early ranks in the end
};

void build(const Plan& plan, Builder& builder) { Walk(plan, builder).build(); }

/// In an exchange both partners send. Nearly all combining that takes time is in the
/// reduce-scatter.
Cost cost(const Plan& plan) {
  const Count ranks = plan.problem.ranks;
  const Count levels = floor_log2(plan.problem.ranks);
  const Count exchanges = ranks - 2 + levels;
  const Count rounds = ranks - 2 + exchanges;
  const Count combines = ranks - 1 + std::max<Count>(0, levels - 2);
  const Count longest = Partition(plan.problem.count, ranks - 1).longest();
  return {rounds, rounds * longest, combines * longest, exchanges * longest, true};
}

/// True where the plan does not become that of the pre-reduced ring.
bool worth_planning(const Problem& problem, const Network& /*network*/) {
  return exchanges(problem.ranks);
}

}  // namespace

LATECOMER_ROW(allreduce, straggler_exchange) {
  return {.arrival_aware = true,
          .commutative_only = true,
          .cost_formula =
              "(2P-4+log2 P)(alpha + m/(P-1) beta) + m gamma; P-2 transfers less after "
              "one late rank; for P not a power of two that of prereduced_ring",
          .source = "Devraj et al. 2025 (StragglAR)",
          .fill_plan = fill_plan,
          .build = build,
          .check = check,
          .cost = cost,
          .worth_planning = worth_planning};
}

}  // namespace latecomer::allreduce
