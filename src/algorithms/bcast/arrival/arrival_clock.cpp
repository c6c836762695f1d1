#include "algorithms/bcast/arrival/arrival_clock.hpp"

#include <algorithm>

#include "base/interruption.hpp"

namespace latecomer::bcast {

ArrivalClock::ArrivalClock(const Network& network, Count bytes, const Feeding& feeding,
                           const std::vector<Seconds>& arrivals)
    : word_(network.occupancy(sizeof(std::uint64_t))),
      segment_(network.occupancy(bytes)),
      handshake_(network.handshake),
      waits_(bytes > network.eager_limit),
      ports_(feeding.ranks, *std::min_element(arrivals.begin(), arrivals.end())) {
  for (Rank rank = 0; rank < feeding.ranks; ++rank) {
    members_.push_back({ArrivalRank(feeding, rank)});
    events_.add({arrivals[static_cast<std::size_t>(rank)], 0, What::arrival, -1, rank});
  }
}

void ArrivalClock::run() {
  while (!events_.empty()) {
    interruption_point();
    const Event event = events_.next();
    happen(event);
    // What has left may let the sender leave; of all else it is the receiver.
    Member& changed = member(event.what == What::sent ? event.from : event.to);
    if (changed.exit < 0 && changed.rank.done()) changed.exit = event.when;
  }
}

void ArrivalClock::happen(const Event& event) {
  const auto& [when, number, what, from, to, word, segment] = event;
  switch (what) {
    case What::arrival:
      return follow(member(to).rank.arrive(), to, when);
    case What::word:
      if (member(to).exit < 0) follow(member(to).rank.hear(from, word), to, when);
      return;
    case What::ready:
      return move(from, to, segment, when);
    case What::sent:
      return follow(member(from).rank.sent(to), from, when);
    case What::landed:
      if (waits_ || meets(from, to, segment)) {
        follow(member(to).rank.received(segment), to, when);
      }
      return;
  }
}

void ArrivalClock::follow(const Step& step, Rank me, Seconds now) {
  for (const auto& [to, word] : step.tell) {
    events_.add({ports_.pass(me, to, now, word_), 0, What::word, me, to, word});
  }
  for (const auto& [from, segment, first] : step.receive) {
    if (meets(from, me, segment)) both(from, me, segment, now);
  }
  for (const auto& [to, segment, first] : step.send) {
    if (!waits_) {
      move(me, to, segment, now);
    } else if (meets(me, to, segment)) {
      both(me, to, segment, now);
    }
  }
}

bool ArrivalClock::meets(Rank from, Rank to, Count segment) {
  const auto [half, alone] = halves_.try_emplace({to, segment}, from);
  if (!alone) halves_.erase(half);
  return !alone;
}

/// The receiver is ready, for what was sent, or has landed.
void ArrivalClock::both(Rank from, Rank to, Count segment, Seconds now) {
  if (waits_) return events_.add({now + handshake_, 0, What::ready, from, to, {}, segment});
  follow(member(to).rank.received(segment), to, now);
}

void ArrivalClock::move(Rank from, Rank to, Count segment, Seconds now) {
  const Seconds there = ports_.pass(from, to, now, segment_);
  events_.add({ports_.sent(from), 0, What::sent, from, to, {}, segment});
  events_.add({there, 0, What::landed, from, to, {}, segment});
}

}  // namespace latecomer::bcast
