#include "algorithms/reduce/local_redirect/line_clock.hpp"

#include <algorithm>

#include "algorithms/after_last.hpp"
#include "base/interruption.hpp"

namespace latecomer::reduce {

LineClock::LineClock(const Network& network, Count bytes, const std::vector<Seconds>& arrivals)
    : word_(network.occupancy(sizeof(std::uint64_t))),
      occupancy_(network.occupancy(bytes)),
      handshake_(network.handshake),
      combine_(network.combining(bytes)),
      waits_(bytes > network.eager_limit),
      ports_(static_cast<Rank>(arrivals.size()),
             *std::min_element(arrivals.begin(), arrivals.end())) {
  const auto ranks = static_cast<Rank>(arrivals.size());
  const Seconds first = *std::min_element(arrivals.begin(), arrivals.end());
  for (Rank at = 0; at < ranks; ++at) {
    members_.push_back({LineRank(at, ranks), first});
    events_.add({arrivals[at], 0, What::arrival, -1, at, {}});
  }
}

void LineClock::run() {
  while (!events_.empty()) {
    interruption_point();
    const Event event = events_.next();
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

void LineClock::follow(const LineRank::Step& step, Rank me, Seconds now) {
  for (const auto& [to, word] : step.tell) {
    events_.add({ports_.pass(me, to, now, word_), 0, What::word, me, to, word});
  }
  if (step.give_to >= 0 && !waits_) move(me, step.give_to, now);
  if (step.receive_from >= 0 && waits_) move(step.receive_from, me, now + handshake_);
}

void LineClock::move(Rank from, Rank to, Seconds now) {
  const Seconds there = ports_.pass(from, to, now, occupancy_);
  members_[from].exit = ports_.sent(from);
  events_.add({there + combine_, 0, What::merged, from, to, {}});
}

void LineClock::hand_over(Rank to) {
  const Rank tail = static_cast<Rank>(members_.size()) - 1;
  Member& last = members_[tail];
  Member& root = members_[to];
  const Seconds now = waits_ ? std::max(last.exit, root.exit) + handshake_ : last.exit;
  const Seconds there = ports_.pass(tail, to, now, occupancy_);
  last.exit = ports_.sent(tail);
  root.exit = std::max(root.exit, there);
}

namespace {

/// The line as it is when all are gone, by the ranks' arrivals.
LineClock clock_after(const Plan& plan, const Network& network,
                      const std::vector<Seconds>& arrivals) {
  std::vector<Seconds> by_position;
  for (const Rank rank : plan.order) by_position.push_back(arrivals[rank]);
  LineClock clock(network, plan.problem.bytes(), by_position);
  clock.run();
  const auto root = std::find(plan.order.begin(), plan.order.end(), plan.problem.root);
  if (plan.order.back() != plan.problem.root)
    clock.hand_over(static_cast<Rank>(root - plan.order.begin()));
  return clock;
}

}  // namespace

Seconds line_time(const Plan& plan, const Network& network) {
  const std::vector<Seconds> together(plan.order.size(), 0);
  const LineClock clock = clock_after(plan, network, together);
  return clock.exit(static_cast<Rank>(plan.order.size()) - 1);
}

Seconds line_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& arrivals) {
  const LineClock clock = clock_after(plan, network, arrivals);
  std::vector<Seconds> exits;
  for (Rank at = 0; at < plan.problem.ranks; ++at) exits.push_back(clock.exit(at));
  return mean_exit_after_last(exits, arrivals);
}

}  // namespace latecomer::reduce
