#include "forecast/forecasts.hpp"

namespace latecomer {

Forecasts::Forecasts(Rank ranks) : ranks_(ranks) {
  entry_memory_ = Forecast::memory(ranks) + sizeof(HistoryKey) + sizeof(Entry) - sizeof(Forecast) +
                  static_cast<std::size_t>(ranks) + 64;  // of a map's node
}

HistoryKey Forecasts::enter(CallKey key) {
  const HistoryKey history = sequence_.place(key);
  sequence_.add(key);
  return history;
}

Estimate Forecasts::next(const HistoryKey& history) const {
  const Entry* entry = find(history);
  if (entry != nullptr) return entry->forecast.next();
  return {.arrivals = std::vector<Seconds>(static_cast<std::size_t>(ranks_))};
}

const std::vector<Seconds>& Forecasts::expect(const HistoryKey& history, Seconds min_step) {
  expected_.clear();
  const Entry* entry = find(history);
  if (entry == nullptr || !entry->forecast.trusted()) return expected_;
  const Forecast& forecast = entry->forecast;
  entry->grid.snap(forecast.arrivals(), min_step, forecast.mean_error(), expected_);
  return expected_;
}

void Forecasts::observe(const HistoryKey& history, const Observation& observation) {
  ++observations_;
  for (const HistoryKey& one : {HistoryKey{history.key}, history}) {
    auto found = entries_.find(one);
    if (found == entries_.end()) {
      if (!make_room()) continue;
      found = entries_.emplace(one, Entry{Forecast(ranks_)}).first;
    }
    found->second.used = observations_;
    found->second.forecast.observe(observation);
    if (history.period == 0) break;  // they are the same
  }
}

/// The history of the position, unless only that of the key is trusted.
const Forecasts::Entry* Forecasts::find(const HistoryKey& history) const {
  const auto entry = entries_.find(history);
  const Entry* found = entry == entries_.end() ? nullptr : &entry->second;
  if (history.period == 0 || (found != nullptr && found->forecast.trusted())) return found;
  const Entry* of_key = find({history.key});
  return of_key != nullptr && of_key->forecast.trusted() ? of_key : found;
}

/// Histories in use stay: a loop over more kinds of calls than fit would otherwise forget each of
/// them before it is used again.
bool Forecasts::make_room() {
  constexpr std::size_t kLargest = 8;  // of the largest histories there is room for so many
  constexpr std::uint64_t kIdle = 2UL * CallSequence::kLongestPeriod;
  if ((entries_.size() + 1) * entry_memory_ <= kLargest * Forecast::allowance(ranks_)) return true;
  const auto used = [](const auto& entry) { return entry.second.used; };
  const auto oldest = std::ranges::min_element(entries_, {}, used);
  if (observations_ - oldest->second.used <= kIdle) return false;
  entries_.erase(oldest);
  return true;
}

}  // namespace latecomer
