#include "forecast/forecasts.hpp"

#include <algorithm>
#include <string>
#include <utility>

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
  const auto entry = entries_.find(best(history));
  if (entry != entries_.end()) return entry->second.forecast.next();
  return {.arrivals = std::vector<Seconds>(static_cast<std::size_t>(ranks_))};
}

const std::vector<Seconds>& Forecasts::expect(const HistoryKey& history, Seconds min_step) {
  expected_.clear();
  const auto found = entries_.find(best(history));
  if (found == entries_.end() || !found->second.forecast.trusted()) return expected_;
  auto& [forecast, grid, snapped, used] = found->second;
  if (snapped != forecast.version()) {
    snapped = forecast.version();
    const std::span<float> arrivals =
        scratch_row(ScratchRow::expected, static_cast<std::size_t>(ranks_));
    forecast.arrivals(arrivals);
    grid.snap(arrivals, min_step, forecast.mean_error());
  }
  grid.last(expected_);
  return expected_;
}

bool Forecasts::trusted(const HistoryKey& history) const {
  const auto entry = entries_.find(history);
  return entry != entries_.end() && entry->second.forecast.trusted();
}

HistoryKey Forecasts::best(const HistoryKey& history) const {
  if (history.period == 0 || trusted(history) || !trusted({history.key})) return history;
  return {history.key};
}

void Forecasts::observe(const HistoryKey& history, const Observation& observation) {
  check(observation, ranks_);
  ++observations_;
  add({history.key}, observation);
  if (history.period != 0) add(history, observation);
}

/// Adds the observation to its history, unless there is no memory for a new one.
void Forecasts::add(const HistoryKey& history, const Observation& observation) {
  auto found = entries_.find(history);
  if (found == entries_.end()) {
    const bool searches = make_room(Forecast::allowance(ranks_)) && searching_ < kSearching;
    Forecast made(ranks_, searches);
    // Some room stays for those that grow, and more for kinds of calls that are new.
    const std::size_t left = Forecast::allowance(ranks_) * (history.period == 0 ? 1 : 4) / 2;
    if (!searches && !make_room(entry_memory(made) + left)) return;
    found = entries_.emplace(history, Entry{std::move(made)}).first;
    count(found->second);
  }
  Entry& entry = found->second;
  entry.used = observations_;
  const bool may_search =
      searching_ < kSearching && taken_ + entry.forecast.search_memory() <= allowance(ranks_);
  discount(entry);
  entry.forecast.add(observation, may_search);
  count(entry);
}

void Forecasts::count(const Entry& entry) {
  taken_ += entry_memory(entry.forecast);
  searching_ += entry.forecast.searching() ? 1 : 0;
}

void Forecasts::discount(const Entry& entry) {
  taken_ -= entry_memory(entry.forecast);
  searching_ -= entry.forecast.searching() ? 1 : 0;
}

/// Makes room for one more history of so many bytes. Histories in use stay: a loop over more kinds
/// of calls than fit would otherwise forget each of them before it is used again.
bool Forecasts::make_room(std::size_t bytes) {
  while (entries_.size() == kMax || taken_ + bytes > allowance(ranks_)) {
    const auto oldest = std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& one, const auto& other) { return one.second.used < other.second.used; });
    if (oldest == entries_.end() || observations_ - oldest->second.used <= kIdle) return false;
    discount(oldest->second);
    entries_.erase(oldest);
  }
  return true;
}

std::size_t Forecasts::entry_memory(const Forecast& forecast) const {
  return forecast.memory() + sizeof(decltype(entries_)::value_type) - sizeof(Forecast) +
         ArrivalGrid::memory(ranks_) + 64;
}

std::size_t Forecasts::memory() const { return sizeof(Forecasts) + taken_; }

}  // namespace latecomer
