// The root feeds one chain after another. A chain's members have the vector a segment's time after
// each other, or the vector's time after they came. While no chain is fed, `arrival_nb` sends to
// the ranks that are absent, the lowest first, where messages do not wait for their receivers.
#include "algorithms/bcast/arrival/estimate.hpp"

#include <algorithm>

#include "schedule/plan.hpp"

namespace latecomer::bcast {
namespace {

class Estimate {
 public:
  Estimate(const Network& network, Count bytes, const Feeding& feeding,
           const std::vector<Seconds>& arrivals)
      : feeding_(feeding),
        sends_ahead_(feeding.ahead > 0 && bytes <= network.eager_limit),
        word_(network.occupancy(sizeof(std::uint64_t))),
        segment_(pace(network, bytes)),
        vector_(static_cast<Seconds>(feeding.segments) * segment_),
        exits_(arrivals),
        provided_(arrivals.size(), false),
        free_(arrivals[static_cast<std::size_t>(feeding.root)]) {
    provided_[feeding.root] = true;
    Seconds link = *std::ranges::min_element(arrivals);  // the root's, that words come by
    for (const Rank rank : order_by_arrival(feeding.ranks, arrivals)) {
      if (rank == feeding.root) continue;
      link = std::max(link, arrivals[rank]) + word_;
      heard_.push_back({rank, link});
    }
  }

  std::vector<Seconds> operator()() {
    while (skip_provided()) {
      const Heard& next = heard_[next_];
      if (next.at > free_ && sends_ahead_ && send_ahead(next)) continue;
      feed_chain(std::max(free_, next.at));
    }
    exits_[feeding_.root] = std::max(exits_[feeding_.root], free_);
    return exits_;
  }

 private:
  struct Heard {
    Rank rank;
    Seconds at;
  };

  /// Two are under way at a time, so that handshakes overlap.
  static Seconds pace(const Network& network, Count bytes) {
    const Seconds alone = network.occupancy(bytes);
    return bytes > network.eager_limit ? std::max(alone, (alone + network.handshake) / 2) : alone;
  }

  /// Whether somebody is left who came, or will come, and has no feeder.
  bool skip_provided() {
    while (next_ < heard_.size() && provided_[heard_[next_].rank]) ++next_;
    return next_ < heard_.size();
  }

  /// Until it is done or somebody comes; whether it was done.
  bool send_ahead(const Heard& next) {
    while (provided_[lowest_]) {
      ++lowest_;
      ahead_ = vector_;
    }
    const Seconds time = std::min(ahead_, next.at - free_);
    ahead_ -= time;
    free_ += time;
    if (ahead_ > 0) return false;
    provided_[lowest_] = true;
    exits_[lowest_] = std::max(exits_[lowest_], free_);
    return true;
  }

  /// Of all who come before the root has fed the first one.
  void feed_chain(Seconds begin) {
    Seconds first = begin;  // when a member has the first segment
    Seconds last = begin;   // and the last one
    Rank before = -1;
    free_ = begin + vector_;
    if (sends_ahead_ && heard_[next_].rank == lowest_) free_ -= vector_ - ahead_;
    for (; skip_provided() && heard_[next_].at <= free_; ++next_) {
      const auto& [me, at] = heard_[next_];
      provided_[me] = true;
      first = std::max(first, at) + segment_;
      last = before < 0 ? free_ : std::max(last + segment_, first - segment_ + vector_);
      exits_[me] = last;
      if (before >= 0) {
        exits_[before] = last;
        free_ += word_;  // who is to feed whom
        last += word_;
      }
      before = me;
    }
  }

  Feeding feeding_;
  bool sends_ahead_;
  Seconds word_;
  Seconds segment_;
  Seconds vector_;
  std::vector<Seconds> exits_;  // so far
  std::vector<bool> provided_;  // by rank: somebody feeds it, or has
  std::vector<Heard> heard_;    // when the root hears of the others, the first one first
  std::size_t next_ = 0;        // of these
  Rank lowest_ = 0;             // that the root sends ahead to
  Seconds ahead_ = vector_;     // what that takes still
  Seconds free_;                // the root
};

}  // namespace

std::vector<Seconds> estimated_exits(const Network& network, Count bytes, const Feeding& feeding,
                                     const std::vector<Seconds>& arrivals) {
  if (feeding.segments == 0) return arrivals;
  return Estimate(network, bytes, feeding, arrivals)();
}

}  // namespace latecomer::bcast
