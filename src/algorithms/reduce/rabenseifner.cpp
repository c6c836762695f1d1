// Rabenseifner: reduce-scatter by recursive halving, then a binomial gather to the root the same
// way back. The nearest ranks exchange first, so each block is reduced in rank order. Ranks beyond
// a power of two send their data to a neighbour first; if the root is one of such a pair, the root
// takes part.
//
// Cost: 2 log2 P alpha + 2(P-1)/P m beta + (P-1)/P m gamma for powers of two; otherwise one round,
// m beta and m gamma more. Use it for long vectors.
// Source: Rabenseifner: Optimization of collective reduction operations, ICCS 2004; equation 4 of
// Marendic 2012.

#include "algorithms/row.hpp"
#include "patterns/powers.hpp"
#include "schedule/builder.hpp"

namespace latecomer::reduce {
namespace {

/// The ranks that take part, a power of two; the root is always among them.
class Core {
 public:
  explicit Core(const Problem& problem) : folded_(problem.ranks), root_(problem.root) {}

  [[nodiscard]] Rank size() const { return folded_.core; }
  [[nodiscard]] bool paired(Rank rank) const { return rank < 2 * folded_.extra; }
  /// The other one of a pair.
  [[nodiscard]] static Rank partner(Rank rank) { return rank ^ 1; }
  [[nodiscard]] bool waits(Rank rank) const {
    if (!paired(rank) || rank == root_) return false;
    return partner(rank) == root_ || folded_.is_folded(rank);
  }
  [[nodiscard]] Rank position(Rank rank) const { return folded_.position(rank); }
  [[nodiscard]] Rank rank(Rank position) const {
    const Rank usual = folded_.rank(position);
    return paired(usual) && partner(usual) == root_ ? root_ : usual;
  }
  [[nodiscard]] Rank root() const { return position(root_); }

 private:
  PowerOfTwoGroup folded_;
  Rank root_;
};

/// One core rank's way through both phases.
class Halving {
 public:
  Halving(const Core& core, const Plan& plan, Builder& builder)
      : builder_(builder),
        core_(core),
        parts_(plan.problem.count, core.size()),
        position_(core.position(builder.me())),
        value_(builder.input({0, plan.problem.count})) {}

  void build() {
    kept_ = {{0, core_.size()}};
    if (core_.paired(builder_.me())) fold(Core::partner(builder_.me()), kept_[0], kept_[0]);
    for (Rank mask = 1; mask < core_.size(); mask *= 2) {
      const bool upper = (position_ & mask) != 0;
      const Rank peer = core_.rank(position_ ^ mask);
      const Blocks now = kept_.back();
      builder_.send(peer, part(now, now.half(!upper)));
      fold(peer, now, now.half(upper));
      kept_.push_back(now.half(upper));
    }
    gather();
  }

 private:
  [[nodiscard]] Range range(Blocks blocks) const { return blocks.in(parts_); }
  /// The place of the blocks `wanted`, where the value now stands for the blocks `now`.
  [[nodiscard]] Slice part(Blocks now, Blocks wanted) const {
    return value_.part(range(wanted).begin - range(now).begin, range(wanted).count);
  }

  void fold(Rank peer, Blocks now, Blocks wanted) {
    const Slice own = part(now, wanted);
    const bool left = peer < builder_.me();
    const Slice landing = take(own.count);
    builder_.recv(peer, landing);
    const bool moves = left && !builder_.commutative() && !builder_.writable(own);
    const Slice moved = moves ? take(own.count) : landing;
    value_ = builder_.fold(landing, left ? Received::left : Received::right, own, moved);
    if (moves) spare_ = landing;
  }
  /// Scratch: a part of the spare scratch if that is long enough.
  Slice take(Count count) {
    if (spare_.count < count) return builder_.scratch(count);
    const Slice taken = spare_.part(0, count);
    spare_ = spare_.part(count, spare_.count - count);
    return taken;
  }

  /// The level at which this rank sends its blocks; 0 for the root, which never does.
  [[nodiscard]] std::size_t widened() const {
    std::size_t level = kept_.size() - 1;
    while (level > 0 && !sends_at(level)) --level;
    return level;
  }
  /// True if this rank sends the blocks kept at a level to its partner of that level.
  [[nodiscard]] bool sends_at(std::size_t level) const {
    return ((position_ ^ core_.root()) & mask(level)) != 0;
  }
  [[nodiscard]] static Rank mask(std::size_t level) { return (Rank{1} << level) / 2; }

  /// Widens from this rank's blocks back to those that it sends on, at the root to all.
  void gather() {
    const std::size_t end = widened();
    const bool root = position_ == core_.root();
    Slice held = value_;
    if (end < kept_.size() - 1 || root) {
      const Range all = range(kept_[end]);
      const Slice goal = root ? builder_.output(all) : take(all.count);
      const auto place = [&](Blocks blocks) {
        return goal.part(range(blocks).begin - all.begin, range(blocks).count);
      };
      builder_.copy(value_, place(kept_.back()));
      for (std::size_t level = kept_.size() - 1; level > end; --level) {
        const bool upper = (position_ & mask(level)) != 0;
        builder_.recv(core_.rank(position_ ^ mask(level)), place(kept_[level - 1].half(!upper)));
      }
      held = goal;
    }
    if (!root) builder_.send(core_.rank(position_ ^ mask(end)), held);
  }

  Builder& builder_;
  Core core_;
  Partition parts_;
  Rank position_;
  Slice value_;
  Slice spare_;
  std::vector<Blocks> kept_;
};

void build(const Plan& plan, Builder& builder) {
  const Core core(plan.problem);
  if (!core.waits(builder.me())) return Halving(core, plan, builder).build();
  builder.send(Core::partner(builder.me()), builder.input({0, plan.problem.count}));
}

/// Exact where P's power of two divides the count; rounded up otherwise.
Cost cost(const Plan& plan) {
  const PowerOfTwoGroup folded(plan.problem.ranks);
  const Count m = plan.problem.count;
  const Count halving = (folded.core - 1) * Partition(m, folded.core).longest();
  const Cost both{Count{2} * folded.log2, 2 * halving, halving, halving};
  return folded.extra == 0 ? both : both + Cost{1, m, m};
}

}  // namespace

LATECOMER_ROW(reduce, rabenseifner) {
  return {.scratch_messages = 3,
          .cost_formula =
              "2 log2 P alpha + 2(P-1)/P m beta + (P-1)/P m gamma; for other P 1 round,"
              " m beta and m gamma more",
          .source = "Rabenseifner 2004; Marendic 2012, equation 4",
          .build = build,
          .cost = cost};
}

}  // namespace latecomer::reduce
