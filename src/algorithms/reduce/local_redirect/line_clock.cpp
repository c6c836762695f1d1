#include "algorithms/reduce/local_redirect/line_clock.hpp"

#include <algorithm>

namespace latecomer::reduce {

LineClock::LineClock(const Network& network, Count bytes, const std::vector<Seconds>& arrivals)
    : word_(network.occupancy(sizeof(std::uint64_t))),
      occupancy_(network.occupancy(bytes)),
      handshake_(network.handshake),
      combine_(network.combining(bytes)),
      waits_(bytes > network.eager_limit) {
  const auto ranks = static_cast<Rank>(arrivals.size());
  const Seconds first = *std::min_element(arrivals.begin(), arrivals.end());
  for (Rank at = 0; at < ranks; ++at) {
    members_.push_back({LineRank(at, ranks), first, first, first});
    add({arrivals[at], 0, What::arrival, -1, at, {}});
  }
}

void LineClock::add(Event event) {
  event.number = numbers_++;
  events_.push(event);
}

void LineClock::run() {
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    LineRank& rank = members_[event.to].rank;
    switch (event.what) {
      case What::arrival:
        follow(rank.arrive(), event.to, event.when);
        break;
      case What::word:
        follow(rank.hear(event.from, event.word), event.to, event.when);
        break;
      case What::merged:
        follow(rank.merged(), event.to, event.when);
        break;
    }
    if (rank.complete()) members_[event.to].exit = std::max(members_[event.to].exit, event.when);
  }
}

Seconds LineClock::pass(Rank from, Rank to, Seconds now, Seconds takes) {
  const Seconds begin = std::max(now, members_[from].sends);
  members_[from].sends = begin + takes;
  members_[to].receives = std::max(begin, members_[to].receives) + takes;
  return members_[to].receives;
}

void LineClock::follow(const LineRank::Step& step, Rank me, Seconds now) {
  for (const auto& [to, word] : step.tell) {
    add({pass(me, to, now, word_), 0, What::word, me, to, word});
  }
  if (step.give_to >= 0 && !waits_) move(me, step.give_to, now);
  if (step.receive_from >= 0 && waits_) move(step.receive_from, me, now + handshake_);
}

void LineClock::move(Rank from, Rank to, Seconds now) {
  const Seconds there = pass(from, to, now, occupancy_);
  members_[from].exit = members_[from].sends;
  add({there + combine_, 0, What::merged, from, to, {}});
}

void LineClock::hand_over(Rank to) {
  Member& last = members_.back();
  Member& root = members_[to];
  const Seconds now = waits_ ? std::max(last.exit, root.exit) + handshake_ : last.exit;
  const Seconds there = pass(static_cast<Rank>(members_.size()) - 1, to, now, occupancy_);
  last.exit = last.sends;
  root.exit = std::max(root.exit, there);
}

}  // namespace latecomer::reduce
