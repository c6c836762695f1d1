#include "forecast/forecast.hpp"

#include <cmath>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/threads.hpp"

namespace latecomer {
namespace {

constexpr float kBetter = 0.8F;  // of its score, to be chosen instead of another
constexpr std::size_t kBytes = (16 << 10) - sizeof(Forecast);  // beyond the least patterns
constexpr int kLeast = 2;                                      // patterns that the shift needs

void check(const std::string& name, const std::vector<Seconds>& times, std::size_t ranks) {
  if (times.size() != ranks) {
    throw Error("number of " + name + "s", std::to_string(times.size()),
                "one for each of " + std::to_string(ranks) + " ranks");
  }
  const auto is_time = [](Seconds time) { return std::abs(time) <= 1e12; };  // false for NaN
  if (std::ranges::count_if(times, is_time) == std::ssize(times)) return;
  const auto wrong = std::ranges::find_if_not(times, is_time);
  throw Error(name + " of rank " + std::to_string(wrong - times.begin()), format_number(*wrong),
              "a time between -1e12 and 1e12 seconds");
}

/// Of all forecasts of the thread, so that a call allocates nothing.
struct Rows {
  std::vector<float> lateness, exits, computing, room;
};
struct OfForecasts;
using RowsOfThread = PerThread<OfForecasts, Rows>;

void pattern_of(const std::vector<Seconds>& times, std::vector<float>& pattern) {
  const Seconds earliest = extremes_of(times).min;
  pattern.clear();
  for (const Seconds time : times) pattern.push_back(static_cast<float>(time - earliest));
}

std::size_t memory_of(Rank ranks, int depth) {
  const std::size_t row = static_cast<std::size_t>(ranks) * sizeof(float);
  return sizeof(Forecast) + static_cast<std::size_t>(depth) * (2 * row + sizeof(Ends)) + 2 * row;
}

}  // namespace

std::size_t Forecast::allowance(Rank ranks) { return kBytes + memory_of(ranks, kLeast); }
std::size_t Forecast::memory(Rank ranks) { return memory_of(ranks, depth(ranks)); }

int Forecast::depth(Rank ranks) {
  if (ranks < 1) throw Error("ranks", std::to_string(ranks), "a whole number from 1 up");
  int depth = kMemory;
  while (memory_of(ranks, depth) > allowance(ranks)) --depth;
  return depth;
}

Forecast::Forecast(Rank ranks)
    : ranks_(static_cast<std::size_t>(ranks)), estimators_(ranks, depth(ranks)) {}

void Forecast::observe(const Observation& observation) {
  const bool left = !observation.exits_before.empty();
  check("arrival", observation.arrivals, ranks_);
  if (left) check("exit", observation.exits_before, ranks_);
  auto& [lateness, exits, computing, room] = RowsOfThread::get();
  pattern_of(observation.arrivals, lateness);
  exits.assign(ranks_, 0);
  if (left) pattern_of(observation.exits_before, exits);
  computing.resize(ranks_);
  room.resize(ranks_);
  std::transform(lateness.begin(), lateness.end(), exits.begin(), computing.begin(), std::minus());
  estimators_.look_for_period(computing);
  if (!arrivals_.empty()) judge(lateness);
  estimators_.add(computing, exits);
  choose();
}

/// Records how wrong each estimator was. One that is not ready counts as the last value: otherwise
/// it would be spared errors that none could foresee, such as a first call like no other.
void Forecast::judge(PatternView lateness) {
  std::vector<float>& room = RowsOfThread::get().room;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const PatternView next = estimators_.predict(static_cast<Estimator>(i), room);
    const float misplaced = next.empty() ? records_[0].last : misplacement(next, lateness);
    records_[i].add(misplaced, next.empty() ? 0 : imbalance(next));
  }
  claims_.add(claim_, records_[chosen_].last);
}

void Forecast::choose() {
  arrivals_.resize(ranks_);
  float min = 0;
  const std::size_t before = chosen_;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const float score = (i == before ? kBetter : 1) * records_[i].score();
    if (i > 0 && score >= min) continue;
    if (estimators_.predict(static_cast<Estimator>(i), arrivals_).empty()) continue;
    min = score;
    chosen_ = i;
  }
  const PatternView next = estimators_.predict(static_cast<Estimator>(chosen_), arrivals_);
  const auto [first, last] = extremes_of(next);
  const auto after = [min = first](float arrival) { return arrival - min; };
  std::ranges::transform(next, arrivals_.begin(), after);
  claim_ = records_[chosen_].claim(last - first);
}

Estimate Forecast::next() const {
  Estimate estimate{.arrivals = std::vector<Seconds>(ranks_), .trusted = trusted()};
  if (!arrivals_.empty()) estimate.method = kEstimators[chosen_];
  if (estimate.trusted) std::ranges::copy(arrivals_, estimate.arrivals.begin());
  return estimate;
}

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
    ++found->second.observed;
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
/// them before it is used again. Those that have shown nobody late in many calls make room.
bool Forecasts::make_room() {
  constexpr std::size_t kLargest = 8;  // of the largest histories there is room for so many
  constexpr std::uint64_t kIdle = 2UL * CallSequence::kLongestPeriod;
  if ((entries_.size() + 1) * entry_memory_ <= kLargest * Forecast::allowance(ranks_)) return true;
  const auto used = [](const auto& entry) { return entry.second.used; };
  const auto oldest = std::ranges::min_element(entries_, {}, used);
  if (observations_ - oldest->second.used > kIdle) {
    entries_.erase(oldest);
    return true;
  }
  constexpr std::uint64_t kMany = 64;
  const auto most = std::ranges::max_element(entries_, {}, [](const auto& entry) {
    return entry.second.forecast.trusted() ? 0 : entry.second.observed;
  });
  if (most->second.forecast.trusted() || most->second.observed < kMany) return false;
  entries_.erase(most);
  return true;
}

}  // namespace latecomer
