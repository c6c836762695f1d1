#include "algorithms/reduce/chain.hpp"

#include <algorithm>

#include "algorithms/reduce/tree_fold.hpp"
#include "base/partition.hpp"

namespace latecomer::reduce {
namespace {

Rank position_of(const Plan& plan, Rank rank) {
  return static_cast<Rank>(std::find(plan.order.begin(), plan.order.end(), rank) -
                           plan.order.begin());
}

/// The numbers of ranks before and behind the root.
struct Sides {
  explicit Sides(const Plan& plan)
      : before(position_of(plan, plan.problem.root)), behind(plan.problem.ranks - 1 - before) {}

  [[nodiscard]] Count shorter() const { return std::min(before, behind); }
  [[nodiscard]] Count longer() const { return std::max(before, behind); }

  Rank before;
  Rank behind;
};

/// One rank's segments; on their way they are folded one by one.
class Line {
 public:
  Line(const Plan& plan, Builder& builder)
      : plan_(plan),
        at_(position_of(plan, builder.me())),
        sides_(plan),
        segments_(plan.parameters.at("segments")) {
    const Partition parts(plan.problem.count, segments_);
    for (Count s = 0; s < segments_; ++s) {
      folds_.emplace_back(builder, parts.range(s), at_ == sides_.before);
      folds_.back().own();
    }
  }

  void run() {
    if (at_ == sides_.before) return end();
    for (Count s = 0; s < segments_; ++s) {
      if (at_ < sides_.before) pass(s, at_ - 1, Received::left, at_ + 1);
      if (at_ > sides_.before) pass(s, at_ + 1, Received::right, at_ - 1);
    }
  }

 private:
  void pass(Count s, Rank from, Received side, Rank to) {
    TreeFold& fold = folds_[static_cast<std::size_t>(s)];
    const bool first = from < 0 || from == plan_.problem.ranks;
    if (!first) fold.receive(plan_.order[from], side, true);
    fold.send(plan_.order[to]);
  }

  /// The root receives segments in the order of the earliest times at which they can be there.
  void end() {
    Count left = 0;
    Count right = 0;
    while (left < all(sides_.before) || right < all(sides_.behind)) {
      const bool none = right == all(sides_.behind);
      const bool earlier =
          left < all(sides_.before) && sides_.before + left <= sides_.behind + right;
      if (none || earlier) {
        receive(left, at_ - 1, Received::left, left < right || sides_.behind == 0);
        ++left;
      } else {
        receive(right, at_ + 1, Received::right, right < left || sides_.before == 0);
        ++right;
      }
    }
    for (TreeFold& fold : folds_) fold.finish();
  }
  void receive(Count s, Rank from, Received side, bool last) {
    folds_[static_cast<std::size_t>(s)].receive(plan_.order[from], side, last);
  }
  /// The number of segments that a side with so many ranks sends.
  [[nodiscard]] Count all(Rank ranks) const { return ranks > 0 ? segments_ : 0; }

  const Plan& plan_;
  Rank at_;
  Sides sides_;
  Count segments_;
  std::vector<TreeFold> folds_;
};

Count segments_of(const Plan& plan) {
  return std::min(plan.parameters.at("segments"), std::max<Count>(1, plan.problem.count));
}

/// The times of one hop of a segment.
struct Stage {
  Stage(const Plan& plan, const Network& network) : segments(segments_of(plan)) {
    const Count longest = Partition(plan.problem.count, segments).longest();
    const Count bytes = longest * plan.problem.element_bytes;
    pass = network.transfer(bytes);
    fold = network.combining(bytes);
    waits = bytes > network.eager_limit;
  }
  [[nodiscard]] Seconds all(Seconds each) const { return static_cast<double>(segments) * each; }

  Count segments;
  Seconds pass;  // over a link
  Seconds fold;  // into the next rank's segment
  bool waits;    // until its receiver has arrived
};

}  // namespace

void build_chain(const Plan& plan, Builder& builder) { Line(plan, builder).run(); }

Cost chain_cost(const Plan& plan) {
  const Sides sides(plan);
  const Count segments = segments_of(plan);
  const Count longest = Partition(plan.problem.count, segments).longest();
  const auto way = [&](Count ranks, Count taken) {
    const Count rounds = ranks - 1 + taken;
    return Cost{rounds, rounds * longest, ranks * longest};
  };
  const Cost farther = way(sides.longer(), segments);
  if (sides.shorter() == 0) return farther;
  // Two messages a segment enter the root as soon as the nearer end's first segment is there.
  const Cost nearer = way(sides.shorter(), 2 * segments);
  return nearer.rounds > farther.rounds ? nearer : farther;
}

/// Every rank passes on one segment each `pass`, so the time at which its first segment leaves each
/// position describes a chain: the later of this rank's arrival and that of the segment from the
/// rank before.
Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals) {
  const Rank ranks = plan.problem.ranks;
  if (ranks == 1) return 0;
  const Stage stage(plan, network);
  std::vector<Seconds> exits;
  Seconds leaves = 0;
  for (Rank i = 0; i + 1 < ranks; ++i) {
    const Seconds arrival = arrivals[plan.order[i]];
    leaves = i == 0 ? arrival : std::max(arrival, leaves + stage.pass) + stage.fold;
    if (stage.waits) leaves = std::max(leaves, arrivals[plan.order[i + 1]]);
    exits.push_back(leaves + stage.all(stage.pass));
  }
  const Seconds first = std::max(arrivals[plan.order.back()], leaves + stage.pass);
  exits.push_back(
      std::max(first + stage.all(stage.fold), leaves + stage.all(stage.pass) + stage.fold));
  return mean_exit_after_last(exits, arrivals);
}

}  // namespace latecomer::reduce
