// When the ranks of a ring walk leave, if they arrive at given times: the walk itself, one number a
// transfer instead of a message.
#include <algorithm>
#include <numeric>

#include "algorithms/after_last.hpp"
#include "algorithms/allreduce/ring_walk.hpp"
#include "base/interruption.hpp"
#include "base/partition.hpp"

namespace latecomer::allreduce {
namespace {

/// The walk takes about 4 P^2 steps; for more ranks it is priced as if nobody were late, which is
/// never less.
constexpr Rank kMostWalked = 256;

class TimedWalk {
 public:
  TimedWalk(const Plan& plan, const Network& network, const std::vector<Seconds>& arrivals)
      : starts_(plan.table), ranks_(plan.problem.ranks) {
    for (const Rank rank : plan.order) arrivals_.push_back(arrivals[rank]);
    segments_ = std::accumulate(starts_.begin(), starts_.end(), Count{0});
    const Count bytes =
        Partition(plan.problem.count, segments_).longest() * plan.problem.element_bytes;
    pass_ = network.transfer(bytes);
    fold_ = network.combining(bytes);
    waits_ = bytes > network.eager_limit;
  }

  /// The exits, by position.
  std::vector<Seconds> operator()() {
    sent_.assign(arrivals_.size(), {});
    const Rank first = somebody_who_starts();
    for (Count k = 0; k < 2 * segments_; ++k) {
      interruption_point();
      for (Rank i = 0; i < ranks_; ++i) send(wrap(first + i), k);
    }
    std::vector<Seconds> exits;
    for (Rank i = 0; i < ranks_; ++i) exits.push_back(std::max(last(i), last(wrap(i - 1))));
    return exits;
  }

 private:
  [[nodiscard]] Rank wrap(Rank position) const { return (position + ranks_) % ranks_; }
  [[nodiscard]] Count n(Rank position) const { return starts_[wrap(position)]; }
  [[nodiscard]] Seconds last(Rank position) const {
    return sent_[position].empty() ? arrivals_[position] : sent_[position].back();
  }
  /// Whoever starts no segment waits for the one before it in the same round.
  [[nodiscard]] Rank somebody_who_starts() const {
    const auto at = std::find_if(starts_.begin(), starts_.end(), [](Count c) { return c > 0; });
    return static_cast<Rank>(at - starts_.begin());
  }

  /// The k-th transfer from a position to the next one.
  void send(Rank me, Count k) {
    if (k >= 2 * segments_ - n(me + 1) - n(me + 2)) return;
    Seconds begin = last(me);
    const Count received = k - n(me);
    if (received >= 0) {
      const Seconds came = std::max(sent_[wrap(me - 1)][received], arrivals_[me]);
      const bool partial = received < segments_ - n(me);
      begin = std::max(begin, came + (partial ? fold_ : 0));
    }
    if (waits_) begin = std::max(begin, arrivals_[wrap(me + 1)]);
    sent_[me].push_back(begin + pass_);
  }

  const std::vector<Count>& starts_;
  Rank ranks_;
  Count segments_ = 0;
  Seconds pass_ = 0;
  Seconds fold_ = 0;
  bool waits_ = false;
  std::vector<Seconds> arrivals_;           // by position
  std::vector<std::vector<Seconds>> sent_;  // when each transfer from a position was over
};

}  // namespace

Seconds ring_walk_time_after_last(const Plan& plan, const Network& network,
                                  const std::vector<Seconds>& arrivals) {
  if (plan.problem.ranks > kMostWalked) return ring_walk_time(plan, network);
  return mean_exit_after_last(TimedWalk(plan, network, arrivals)(), arrivals);
}

}  // namespace latecomer::allreduce
