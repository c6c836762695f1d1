#include "arrival/forecasts.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace latecomer {

Forecasts::Forecasts(Rank ranks) : ranks_(ranks) {
  if (ranks < 1) throw Error("ranks", std::to_string(ranks), "a whole number from 1 up");
}

HistoryKey Forecasts::enter(CallKey key) {
  const HistoryKey history = sequence_.place(key);
  sequence_.add(key);
  return history;
}

Estimate Forecasts::next(const HistoryKey& history) const {
  Estimate own = alone(history);
  if (own.trusted || history.period == 0) return own;
  const Estimate of_key = alone({history.key});
  return of_key.trusted ? of_key : own;
}

Estimate Forecasts::alone(const HistoryKey& history) const {
  const auto entry = entries_.find(history);
  if (entry != entries_.end()) return entry->second.forecast.next();
  return {.arrivals = std::vector<Seconds>(static_cast<std::size_t>(ranks_))};
}

void Forecasts::observe(const HistoryKey& history, const Observation& observation) {
  check(observation, ranks_);
  ++observations_;
  add({history.key}, observation);
  if (history.period != 0) add(history, observation);
}

void Forecasts::add(const HistoryKey& history, const Observation& observation) {
  auto entry = entries_.find(history);
  if (entry == entries_.end()) {
    if (entries_.size() == kMost) forget_oldest();
    entry = entries_.emplace(history, Entry{Forecast(ranks_), 0}).first;
  }
  entry->second.used = observations_;
  entry->second.forecast.observe(observation);
}

void Forecasts::forget_oldest() {
  const auto oldest = std::min_element(
      entries_.begin(), entries_.end(),
      [](const auto& one, const auto& other) { return one.second.used < other.second.used; });
  entries_.erase(oldest);
}

}  // namespace latecomer
