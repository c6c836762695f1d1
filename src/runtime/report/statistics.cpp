#include "runtime/report/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace latecomer {
namespace {

constexpr double kNormal = 1.96;  // standard deviations that hold 95 %

/// The same of Student's distribution, relative to the normal one: few calls say little about how
/// much their times differ. By Cornish and Fisher's expansion, at most 4 % too
/// low from 2 degrees of freedom on.
double widening(double freedom) {
  if (freedom < 2) return 6.48;
  return 1 + 1.210 / freedom + 1.440 / (freedom * freedom) + 1.304 / (freedom * freedom * freedom);
}

constexpr Counter kCounters[] = {
    {"handled", &latecomer_stats::handled},
    {"native", &latecomer_stats::native},
    {"failed", &latecomer_stats::failed},
    {"fallback_arguments", &latecomer_stats::fallback_arguments},
    {"fallback_intercommunicator", &latecomer_stats::fallback_intercommunicator},
    {"fallback_trivial", &latecomer_stats::fallback_trivial},
    {"fallback_type", &latecomer_stats::fallback_type},
    {"fallback_operator", &latecomer_stats::fallback_operator},
    {"fallback_plan", &latecomer_stats::fallback_plan},
    {"fallback_settings", &latecomer_stats::fallback_settings},
    {"fallback_link", &latecomer_stats::fallback_link},
    {"fallback_device", &latecomer_stats::fallback_device},
    {"before_arrival", &latecomer_stats::before_arrival, false},
};
static_assert(sizeof(latecomer_stats) == std::size(kCounters) * sizeof(std::uint64_t),
              "every counter needs its row");

}  // namespace

void SavedTime::add(const SavedTime& other) {
  saved += other.saved;
  variance += other.variance;
  calls += other.calls;
  rough = rough || other.rough;
}

void Savings::Mean::add(double number) {
  ++count;
  const double before = number - mean;
  mean += before / static_cast<double>(count);
  squares += before * (number - mean);
}

void Savings::Situation::add(By by, Seconds taken) {
  if (by == By::library) {
    library.add(taken);
    stretch.add(taken);
    return;
  }
  handled.add(taken);
  if (stretch.count > 0) stretches.add(stretch.mean);
  stretch = {};
}

/// Within a factor of two; or earlier and later by less than would matter to the call.
bool Savings::Situation::includes(const Timed& call) const {
  if (call.root_last != first.root_last) return false;
  const Seconds apart = std::abs(call.lateness - first.lateness);
  const Seconds usual = library.count > 0 ? library.mean : handled.mean;
  return apart <= std::max(call.lateness, first.lateness) / 2 || apart <= usual / 4;
}

void Savings::add(CallKey key, By by, const std::optional<Timed>& timed) {
  if (classes_.size() == kMaxClasses && !classes_.contains(key)) return;
  Class& all = classes_[key];
  if (by == By::handled) ++(timed ? all.timed : all.untimed);
  if (!timed) return;
  std::vector<Situation>& situations = all.situations;
  auto found = std::find_if(situations.begin(), situations.end(),
                            [&](const Situation& each) { return each.includes(*timed); });
  if (found == situations.end()) {
    if (situations.size() == kMaxSituations) return;
    found = situations.insert(situations.end(), Situation{*timed, {}, {}, {}, {}});
  }
  found->add(by, timed->taken);
}

/// The times of the handled calls are known; the error is that of what the library would have taken
/// in them. Calls that follow each other resemble each other, so a stretch of them is one sample.
/// Two means are unknown, and vary as the samples do: that of the samples, and that of the calls
/// between them.
SavedTime Savings::estimate_of(const Situation& situation) {
  const Mean& library = situation.library;
  const Mean& handled = situation.handled;
  if (library.count < kLeastLibrary || handled.count == 0) return {};
  const auto calls = static_cast<double>(handled.count);
  SavedTime time{calls * (library.mean - handled.mean), 0, handled.count, true};
  Mean stretches = situation.stretches;
  if (situation.stretch.count > 0) stretches.add(situation.stretch.mean);
  if (stretches.count < 2) return time;
  time.rough = false;
  const auto samples = static_cast<double>(stretches.count);
  const double wide = widening(samples - 1);
  const double spread = wide * wide * stretches.squares / (samples - 1);
  time.variance = 2 * calls * calls * spread / samples;
  return time;
}

SavedTime Savings::estimate() const {
  SavedTime all;
  for (const auto& [key, one] : classes_) {
    SavedTime of_class;
    for (const Situation& situation : one.situations) of_class.add(estimate_of(situation));
    if (of_class.calls == 0) continue;
    // Calls whose arrivals are not known came like the others.
    const double more = 1 + static_cast<double>(one.untimed) / static_cast<double>(one.timed);
    of_class.calls =
        static_cast<std::uint64_t>(std::llround(more * static_cast<double>(of_class.calls)));
    of_class.saved *= more;
    of_class.variance *= more * more;
    all.add(of_class);
  }
  return all;
}

Seconds half_range(const SavedTime& saved) { return kNormal * std::sqrt(saved.variance); }

std::span<const Counter> counters() { return kCounters; }

void add(latecomer_stats& to, const latecomer_stats& other) {
  for (const Counter& counter : kCounters) to.*counter.member += other.*counter.member;
}

std::uint64_t total(const latecomer_stats& stats) {
  std::uint64_t sum = 0;
  for (const Counter& counter : kCounters) {
    if (counter.of_calls) sum += stats.*counter.member;
  }
  return sum;
}

namespace {

/// The place of `key` in `entries`, where `places` keeps it; beyond `most` the common last entry's.
template <class Key, class Entry>
std::size_t place_of(std::map<Key, std::size_t>& places, std::deque<Entry>& entries, const Key& key,
                     std::size_t max, bool* fresh) {
  const auto found = places.find(key);
  *fresh = false;
  if (found != places.end()) return found->second;
  if (entries.size() > max) return max;
  *fresh = entries.size() < max;
  entries.emplace_back();
  const std::size_t place = entries.size() - 1;
  if (*fresh) places.emplace(key, place);
  return place;
}

template <std::size_t N>
void write(char (&to)[N], std::string_view text) {
  const std::size_t length = std::min(N - 1, text.size());
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

void add_times(latecomer_times& times, const EndedCall& call) {
  times.inside += call.inside;
  if (!call.telemetry) return;
  ++times.told;
  times.waiting += call.telemetry->waiting;
  times.moving += call.telemetry->moving;
}

void count(latecomer_stats& calls, const EndedCall& call) {
  ++(calls.*call.counter);
  calls.before_arrival += call.before_arrival;
}

}  // namespace

void KeyRecord::count(std::string_view algorithm, std::string_view parameters, std::uint64_t number,
                      std::uint64_t repeats) {
  const bool last = number >= last_call;
  if (last) last_call = number;
  const auto is = [&](const Choice& choice) {
    return choice.algorithm == algorithm && choice.parameters == parameters;
  };
  auto found = std::find_if(choices.begin(), choices.end(), is);
  if (found == choices.end()) {
    if (choices.size() == LATECOMER_MAX_CHOICES) {
      other_choices += repeats;
      if (last) last_choice = -1;
      return;
    }
    choices.push_back({std::string(algorithm), std::string(parameters), 0});
    found = std::prev(choices.end());
  }
  found->calls += repeats;
  if (last) last_choice = static_cast<int32_t>(found - choices.begin());
}

void Statistics::Records::add(CallCounter counter, std::uint64_t count, Seconds inside,
                              std::uint64_t number) const {
  key->calls.*counter += count;
  key->times.inside += inside;
  key->count("native", {}, number, count);
  site->calls.*counter += count;
  site->times.inside += inside;
}

Statistics::Records Statistics::add(const EndedCall& call) {
  KeyRecord& key = key_record(call);
  count(key.calls, call);
  add_times(key.times, call);
  if (call.well) key.count(call.algorithm, call.parameters, call.number);
  if (call.telemetry && call.telemetry->estimate_error) {
    ++key.estimated;
    key.estimate_error += *call.telemetry->estimate_error;
  }
  add_to_savings(call);
  latecomer_site_stats& site = site_record(call.site);
  count(site.calls, call);
  add_times(site.times, call);
  return {&key, &site};
}

/// Calls that the library carried out for other reasons than a choice may be of other kinds.
void Statistics::add_to_savings(const EndedCall& call) {
  const bool handled = call.counter == &latecomer_stats::handled;
  const bool tried = call.counter == &latecomer_stats::native && call.telemetry;
  if (!handled && !tried) return;
  const auto timed = call.telemetry ? std::optional(call.telemetry->timed) : std::nullopt;
  savings_.add(class_key(call.problem), handled ? Savings::By::handled : Savings::By::library,
               timed);
}

latecomer_key_stats Statistics::key(std::size_t index) const {
  const KeyRecord& record = keys_[index];
  latecomer_key_stats stats{};
  const auto found = std::find_if(key_places_.begin(), key_places_.end(),
                                  [&](const auto& each) { return each.second == index; });
  if (found != key_places_.end()) {
    const Key& key = found->first;
    write(stats.collective, to_string(key.collective));
    stats.bytes = static_cast<std::uint64_t>(key.bytes);
    stats.commutative = key.commutative ? 1 : 0;
    stats.exact = key.exact ? 1 : 0;
    stats.period = key.period;
    stats.position = key.position;
  }
  stats.calls = record.calls;
  stats.times = record.times;
  stats.choice_count = static_cast<int32_t>(record.choices.size());
  stats.last_choice = record.last_choice;
  for (std::size_t i = 0; i < record.choices.size(); ++i) {
    write(stats.choices[i].algorithm, record.choices[i].algorithm);
    write(stats.choices[i].parameters, record.choices[i].parameters);
    stats.choices[i].calls = record.choices[i].calls;
  }
  stats.other_choices = record.other_choices;
  stats.estimated = record.estimated;
  stats.estimate_error = record.estimate_error;
  return stats;
}

std::vector<latecomer_key_stats> Statistics::keys() const {
  std::vector<latecomer_key_stats> all;
  for (std::size_t i = 0; i < keys_.size(); ++i) all.push_back(key(i));
  return all;
}

KeyRecord& Statistics::key_record(const EndedCall& call) {
  const Key key{call.problem.collective,
                call.problem.bytes(),
                call.problem.commutative,
                call.problem.exact,
                call.telemetry ? call.telemetry->period : 0,
                call.telemetry ? call.telemetry->position : 0};
  bool fresh = false;
  return keys_[place_of(key_places_, keys_, key, LATECOMER_MAX_KEYS, &fresh)];
}

latecomer_site_stats& Statistics::site_record(const void* address) {
  bool fresh = false;
  latecomer_site_stats& entry =
      sites_[place_of(site_places_, sites_, address, LATECOMER_MAX_SITES, &fresh)];
  if (fresh) entry.address = address;
  return entry;
}

}  // namespace latecomer
