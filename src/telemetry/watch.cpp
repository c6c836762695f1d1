#include "telemetry/watch.hpp"

#include <algorithm>
#include <numeric>

namespace latecomer {

const std::vector<Seconds>& Watch::expect(const Problem& problem) {
  history_ = forecasts_.enter(class_key(problem));
  forecasts_this_ = true;
  return forecasts_.expect(history_);
}

void Watch::enter_class(const Problem& problem) {
  history_ = {class_key(problem)};
  forecasts_this_ = false;
}

Seconds Watch::last_arrival() const {
  const std::vector<Seconds>& arrivals = seen_.arrivals;
  return arrivals.empty() ? 0 : *std::max_element(arrivals.begin(), arrivals.end());
}

Seconds Watch::waited(bool by_all) const {
  Seconds until = arrived_;
  for (const Seconds arrival : seen_.arrivals) {
    if (by_all || arrival <= left_) until = std::max(until, arrival);
  }
  return std::max(std::min(until, left_) - arrived_, 0.0);
}

/// Of the call that `seen_` has both the arrivals and the exits of.
Taken Watch::taken_until_exits() const {
  const std::vector<Seconds>& exits = seen_.exits_before;
  const auto last = std::ranges::max_element(seen_.arrivals);
  const Seconds sum = std::accumulate(exits.begin(), exits.end(), 0.0);
  const auto on_last = exits[static_cast<std::size_t>(last - seen_.arrivals.begin())];
  const Seconds mean = sum / static_cast<double>(exits.size());
  return {mean - *last, on_last - *last};
}

/// The call's last arrival was `last_before`. If ranks wait for each other after it, its last exit
/// counts. If each goes on by itself, the next last arrival does, without the longest time that a
/// rank was between the calls.
Seconds Watch::cost_until_arrivals(Seconds last_before) {
  const std::vector<Seconds>& exits = seen_.exits_before;
  Seconds longest = 0;
  for (std::size_t rank = 0; rank < exits.size(); ++rank) {
    longest = std::max(longest, seen_.arrivals[rank] - exits[rank]);
  }
  synchrony_.learn(exits, seen_.arrivals);
  const Seconds together = std::ranges::max(exits) - last_before;
  const Seconds alone = last_arrival() - last_before - longest;
  return synchrony_.estimate() * together + (1 - synchrony_.estimate()) * alone;
}

Piggyback& Watch::begin() {
  stamps_.begin();
  return stamps_;
}

Piggyback& Watch::begin_exchange(Seconds arrived, Seconds left, Seconds deciding) {
  arrived_ = arrived;
  left_ = left;
  stamps_.begin();
  stamps_.arrive(me_, {arrived, before_.elapsed, static_cast<float>(left - arrived - deciding)});
  return stamps_;
}

void Watch::arrive(Seconds now) {
  arrived_ = now;
  stamps_.arrive(me_, {now, before_.elapsed});
}

void Watch::leave(Seconds now, Seconds deciding) {
  left_ = now;
  observe();
  taken_.reset();
  before_ = {false, static_cast<float>(now - arrived_ - deciding), true};
}

void Watch::end_exchange() {
  observe();
  const std::vector<ArrivalStamp>& stamps = stamps_.all();
  seen_.exits_before.resize(stamps.size());
  for (std::size_t rank = 0; rank < stamps.size(); ++rank) {
    seen_.exits_before[rank] = stamps[rank].arrival + stamps[rank].elapsed;
  }
  taken_ = taken_until_exits();
  before_ = {true, 0, true};
}

void Watch::observe() {
  const std::vector<ArrivalStamp>& stamps = stamps_.all();
  taken_before_.reset();
  cost_before_.reset();
  if (before_.watched && !before_.exits_known) {
    seen_.exits_before.resize(stamps.size());
    for (std::size_t rank = 0; rank < stamps.size(); ++rank) {
      seen_.exits_before[rank] = seen_.arrivals[rank] + stamps[rank].elapsed_before;
    }
    taken_before_ = taken_until_exits();
  } else if (!before_.exits_known) {
    seen_.exits_before.clear();
  }
  const Seconds last_before = last_arrival();
  seen_.arrivals.resize(stamps.size());
  for (std::size_t rank = 0; rank < stamps.size(); ++rank) {
    seen_.arrivals[rank] = stamps[rank].arrival;
  }
  if (before_.watched) cost_before_ = cost_until_arrivals(last_before);
  if (forecasts_this_) forecasts_.observe(history_, seen_);
  lateness_ = seen_.arrivals;
  const Seconds earliest = *std::min_element(lateness_.begin(), lateness_.end());
  for (Seconds& arrival : lateness_) arrival -= earliest;
}

}  // namespace latecomer
