#include "runtime/report/statistics.hpp"

#include <algorithm>
#include <cstring>

namespace latecomer {
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
