// What the clocks of protocols share: events in the order of their times, and one port a rank.
#pragma once

#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// `Event` has `when`, and `number`, which is set here: of those at one time the first that was
/// caused comes first.
template <class Event>
class Agenda {
 public:
  void add(Event event) {
    event.number = numbers_++;
    events_.push(std::move(event));
  }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  Event next() {
    Event event = events_.top();
    events_.pop();
    return event;
  }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };

  std::priority_queue<Event, std::vector<Event>, Later> events_;
  Count numbers_ = 0;
};

/// When each rank's ports are free.
class Ports {
 public:
  Ports(Rank ranks, Seconds first)
      : sends_(static_cast<std::size_t>(ranks), first), receives_(sends_) {}

  /// When what takes so long has passed both ports.
  Seconds pass(Rank from, Rank to, Seconds now, Seconds takes) {
    const Seconds begin = std::max(now, sends_[from]);
    sends_[from] = begin + takes;
    receives_[to] = std::max(begin, receives_[to]) + takes;
    return receives_[to];
  }
  /// When all that it sends has left.
  [[nodiscard]] Seconds sent(Rank from) const { return sends_[from]; }

 private:
  std::vector<Seconds> sends_;
  std::vector<Seconds> receives_;
};

}  // namespace latecomer
