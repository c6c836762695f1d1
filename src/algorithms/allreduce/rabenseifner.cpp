// Rabenseifner: reduce-scatter by recursive halving, then all-gather by recursive doubling. The
// nearest ranks exchange first, so each block is reduced in rank order. Ranks beyond a power of two
// send their data to a neighbour first and receive the result last.
//
// Cost: 2 log2 P alpha + 2(P-1)/P m beta + (P-1)/P m gamma for powers of two; otherwise two rounds
// and 2 m beta + m gamma more for those that wait and their hosts. Use it for vectors of middle
// length.
// Source: Rabenseifner: Optimization of collective reduction operations, ICCS 2004.
#include "algorithms/allreduce/folded.hpp"
#include "algorithms/row.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allreduce {
namespace {

/// One core rank's way through both phases.
class Halving {
 public:
  Halving(const PowerOfTwoGroup& folded, const Plan& plan, Builder& builder)
      : builder_(builder),
        folded_(folded),
        parts_(plan.problem.count, folded_.core),
        position_(folded_.position(builder.me())),
        value_(builder.input({0, plan.problem.count})) {}

  void build() {
    const Blocks all{0, folded_.core};
    if (folded_.is_proxy(builder_.me())) fold(builder_.me() - 1, all, all);
    std::vector<Blocks> kept = {all};
    for (Rank mask = 1; mask < folded_.core; mask *= 2) {
      const bool upper = (position_ & mask) != 0;
      const Rank peer = folded_.rank(position_ ^ mask);
      const Blocks now = kept.back();
      builder_.send(peer, part(now, now.half(!upper)));
      fold(peer, now, now.half(upper));
      kept.push_back(now.half(upper));
    }
    builder_.copy(value_, output(kept.back()));
    builder_.piggyback(false);  // the core has heard of all; the result tells the others
    gather(kept);
    builder_.piggyback(true);
  }

 private:
  [[nodiscard]] Slice output(Blocks blocks) const { return builder_.output(blocks.in(parts_)); }
  /// The place of the blocks `wanted`, where the value now stands for the blocks `now`.
  [[nodiscard]] Slice part(Blocks now, Blocks wanted) const {
    const Range range = wanted.in(parts_);
    return value_.part(range.begin - now.in(parts_).begin, range.count);
  }

  void fold(Rank peer, Blocks now, Blocks wanted) {
    const Slice own = part(now, wanted);
    const Slice goal = output(wanted);
    const bool left = peer < builder_.me();
    // The value stays in the output once it is there; until then it may arrive there.
    const bool lands_in_goal = !builder_.writable(own) && (builder_.commutative() || !left);
    const Slice landing = lands_in_goal ? goal : builder_.scratch(own.count);
    builder_.recv(peer, landing);
    value_ = builder_.fold(landing, left ? Received::left : Received::right, own, goal);
  }

  /// Widens from this rank's blocks back to all of them.
  void gather(const std::vector<Blocks>& kept) {
    for (std::size_t level = kept.size() - 1; level > 0; --level) {
      const Rank mask = Rank{1} << (level - 1);
      const Rank peer = folded_.rank(position_ ^ mask);
      builder_.send(peer, output(kept[level]));
      builder_.recv(peer, output(kept[level - 1].half((position_ & mask) == 0)));
    }
  }

  Builder& builder_;
  PowerOfTwoGroup folded_;
  Partition parts_;
  Rank position_;
  Slice value_;
};

void halve(const PowerOfTwoGroup& folded, const Plan& plan, Builder& builder) {
  Halving(folded, plan, builder).build();
}

void build(const Plan& plan, Builder& builder) { build_folded(plan, builder, halve); }

/// Exact where P's power of two divides the count; rounded up otherwise.
Cost cost(const Plan& plan) {
  const PowerOfTwoGroup folded(plan.problem.ranks);
  const Count m = plan.problem.count;
  const Count halving = (folded.core - 1) * Partition(m, folded.core).longest();
  const Cost both{Count{2} * folded.log2, 2 * halving, halving, 2 * halving};
  return folded.extra == 0 ? both : both + Cost{2, 2 * m, m};
}

/// Every rank of the core completes a part of the vector, if there is one for each, and so hears of
/// all.
bool informs_all(const Plan& plan) {
  return plan.problem.count >= PowerOfTwoGroup(plan.problem.ranks).core;
}

}  // namespace

LATECOMER_ROW(allreduce, rabenseifner) {
  return {.scratch_messages = 2,
          .cost_formula =
              "2 log2 P alpha + 2(P-1)/P m beta + (P-1)/P m gamma; for other P 2 rounds,"
              " 2 m beta and m gamma more",
          .source = "Rabenseifner 2004",
          .build = build,
          .cost = cost,
          .informs_all = informs_all};
}

}  // namespace latecomer::allreduce
