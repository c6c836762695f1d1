#include "runtime/statistics/statistics.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/statistics/counters.hpp"

namespace latecomer {
namespace {

/// The place of `key` in `entries`, where `places` keeps it; beyond `most` the common last entry's.
template <class Key, class Entry>
std::size_t place_of(std::map<Key, std::size_t>& places, std::vector<Entry>& entries,
                     const Key& key, std::size_t most, bool* fresh) {
  const auto found = places.find(key);
  *fresh = false;
  if (found != places.end()) return found->second;
  if (entries.size() > most) return most;
  *fresh = entries.size() < most;
  entries.push_back({});
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
  if (!call.told) return;
  ++times.told;
  times.waiting += call.told->waiting;
  times.moving += call.told->moving;
}

bool is(const latecomer_choice_stats& choice, const latecomer_choice_stats& other) {
  return std::strcmp(choice.algorithm, other.algorithm) == 0 &&
         std::strcmp(choice.parameters, other.parameters) == 0;
}

void add_choice(latecomer_key_stats& key, const EndedCall& call) {
  latecomer_choice_stats chosen{};
  write(chosen.algorithm, call.algorithm);
  write(chosen.parameters, call.parameters);
  auto* const end = key.choices + key.choice_count;
  auto* const found =
      std::find_if(key.choices, end, [&](const auto& choice) { return is(choice, chosen); });
  if (found == end && key.choice_count == LATECOMER_MOST_CHOICES) {
    ++key.other_choices;
    key.last_choice = -1;
    return;
  }
  if (found == end) {
    *found = chosen;
    ++key.choice_count;
  }
  ++found->calls;
  key.last_choice = static_cast<int32_t>(found - key.choices);
}

}  // namespace

void Statistics::add(const EndedCall& call) {
  latecomer_key_stats& key = key_entry(call);
  add_difference(key.calls, call.after, call.before);
  add_times(key.times, call);
  if (call.well) add_choice(key, call);
  if (call.told && call.told->estimate_error) {
    ++key.estimated;
    key.estimate_error += *call.told->estimate_error;
  }
  latecomer_site_stats& site = site_entry(call.site);
  add_difference(site.calls, call.after, call.before);
  add_times(site.times, call);
}

latecomer_key_stats& Statistics::key_entry(const EndedCall& call) {
  const Key key{call.problem.collective,           call.problem.bytes(),
                call.problem.commutative,          call.problem.exact,
                call.told ? call.told->period : 0, call.told ? call.told->position : 0};
  bool fresh = false;
  latecomer_key_stats& entry =
      keys_[place_of(key_places_, keys_, key, LATECOMER_MOST_KEYS, &fresh)];
  if (entry.choice_count == 0) entry.last_choice = -1;
  if (!fresh) return entry;
  write(entry.collective, to_string(key.collective));
  entry.bytes = static_cast<std::uint64_t>(key.bytes);
  entry.commutative = key.commutative ? 1 : 0;
  entry.exact = key.exact ? 1 : 0;
  entry.period = key.period;
  entry.position = key.position;
  return entry;
}

latecomer_site_stats& Statistics::site_entry(const void* address) {
  bool fresh = false;
  latecomer_site_stats& entry =
      sites_[place_of(site_places_, sites_, address, LATECOMER_MOST_SITES, &fresh)];
  if (fresh) entry.address = address;
  return entry;
}

}  // namespace latecomer
