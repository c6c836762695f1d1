// The timetable is made backwards in time. Seen so, a reduction is a broadcast: the root has all
// segments, every rank must get each of them once, from a rank that has it, and a rank that arrives
// late goes early. A greedy broadcast comes close to one round a segment and log2 P more.
#include "algorithms/reduce/clairvoyant/timetable.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/threads.hpp"
#include "patterns/bit_rows.hpp"
#include "patterns/powers.hpp"

namespace latecomer::reduce {
namespace {

class Backwards {
 public:
  Backwards(const std::vector<Count>& arrivals, Count segments, Rank root)
      : arrivals_(arrivals),
        ranks_(static_cast<Rank>(arrivals.size())),
        window_(segment_window(ranks_, segments)),
        end_(std::ranges::max(arrivals) + segments),
        next_(next_arrivals(arrivals, root)),
        missing_(arrivals.size(), segments),
        released_(arrivals.size(), false),
        rarest_(static_cast<std::size_t>(segments)),
        held_(rarest_.size(), 1),
        holders_(segments, ranks_),
        ports_(1, ranks_) {
    missing_[root] = 0;
    std::iota(rarest_.begin(), rarest_.end(), 0);
    for (Count segment = 0; segment < segments; ++segment) insert(holders_[segment], root);
  }

  SegmentTimetable run() {
    const std::size_t all = rarest_.size() * (arrivals_.size() - 1);
    while (hops_.size() < all) fill();
    std::ranges::reverse(hops_);
    return {std::move(hops_), end_};
  }

 private:
  /// By rank, the round in which it hands on: with its arrival if it comes after the root;
  /// otherwise when the rank arrives that comes next, so that the last one of those that are there
  /// keeps the sum of the others for it.
  static std::vector<Count> next_arrivals(const std::vector<Count>& arrivals, Rank root) {
    std::vector<Rank> order(arrivals.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](Rank rank) { return arrivals[rank]; });
    std::vector<Count> next = arrivals;
    for (std::size_t i = 0; order[i] != root; ++i) next[order[i]] = arrivals[order[i + 1]];
    return next;
  }

  [[nodiscard]] bool present(Rank rank) const { return arrivals_[rank] + round_ < end_; }
  /// The round, backwards, before which the rank should have all segments.
  [[nodiscard]] Count due(Rank rank) const { return end_ - next_[rank]; }

  /// Fills a round, or lets the reduction end later if that is necessary for another message.
  void fill() {
    interruption_point();
    const std::size_t before = hops_.size();
    std::vector<Rank> receivers;
    ports_.clear();
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if (missing_[rank] > 0) end_ = std::max(end_, arrivals_[rank] + round_ + missing_[rank]);
    }
    for (Rank rank = 0; rank < ranks_; ++rank) {
      released_[rank] = released_[rank] || round_ >= due(rank) - window_;
      if (present(rank)) insert(ports_[0], rank);
      if (missing_[rank] > 0 && released_[rank]) receivers.push_back(rank);
    }
    match(receivers);
    if (hops_.size() == before && !receivers.empty()) {
      ++end_;
    } else {
      ++round_;
    }
  }

  /// Those with the least time left choose first.
  void match(std::vector<Rank>& receivers) {
    std::ranges::stable_sort(receivers, {}, [&](Rank rank) {
      return std::pair(due(rank) - missing_[rank], -missing_[rank]);
    });
    std::ranges::stable_sort(rarest_, {}, [&](Count segment) { return held_[segment]; });
    const std::size_t before = hops_.size();
    for (const Rank rank : receivers) receive(rank);
    for (std::size_t i = before; i < hops_.size(); ++i) {
      insert(holders_[hops_[i].segment], hops_[i].from);
    }
  }

  /// The rank gets the segment that fewest ranks have, of those that it lacks, from the one of its
  /// holders that has fewest others.
  void receive(Rank rank) {
    const auto lacks = [&](Count segment) { return !contains(holders_[segment], rank); };
    for (const Count segment : rarest_) {
      if (!lacks(segment)) continue;
      const Rank holder = free_holder(segment);
      if (holder < 0) continue;
      erase(ports_[0], holder);
      hops_.push_back({rank, holder, segment});
      ++held_[segment];
      --missing_[rank];
      return;
    }
  }

  [[nodiscard]] Rank free_holder(Count segment) const {
    Rank best = -1;
    const ConstBits holders = holders_[segment];
    const ConstBits free = ports_[0];
    any_member(
        holders_.words(), [&](std::size_t i) { return holders[i] & free[i]; },
        [&](Count rank) {
          if (best < 0 || missing_[rank] > missing_[best]) best = static_cast<Rank>(rank);
          return false;
        });
    return best;
  }

  const std::vector<Count>& arrivals_;
  Rank ranks_;
  Count window_;
  Count end_;        // the rounds of the whole reduction, as far as is known
  Count round_ = 0;  // backwards, from the end
  std::vector<Count> next_;
  std::vector<Count> missing_;  // by rank: segments
  std::vector<bool> released_;  // ranks may get segments; otherwise they would leave too late
  std::vector<Count> rarest_;   // segments, those that fewest ranks have first
  std::vector<Count> held_;     // by segment: ranks that have it
  BitRows holders_;             // they themselves, at the beginning of the round
  BitRows ports_;               // one row: ranks that can still send a segment in the round
  std::vector<SegmentHop> hops_;
};

}  // namespace

Count segment_window(Rank ranks, Count segments) {
  return segments + segments / 8 + Count{2} * ceil_log2(ranks);
}

SegmentTimetable make_segment_timetable(const std::vector<Count>& arrivals, Count segments,
                                        Rank root) {
  return Backwards(arrivals, segments, root).run();
}

}  // namespace latecomer::reduce
