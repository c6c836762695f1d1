#include "trace/rank_calls.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

namespace latecomer::trace {
namespace {

template <class Value>
std::string text_of(Value value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::to_string(static_cast<int>(value));
  } else {
    return std::to_string(value);
  }
}

template <class Record>
struct Checked {
  const std::vector<std::uint32_t>& places;
  std::vector<std::uint8_t> alive;  // nothing is wrong with it so far
  const char* noun = "";
};

/// Checks one after the other. Nearly all files are all right: that is found out first.
class Checks {
 public:
  Checks(const OfKind& of, RankFile& file)
      : records_(of.records), own_(of.places), about_(of.about), file_(file) {}

  std::vector<std::uint8_t> right_calls(const Numbered& slots) {
    Checked<Call> checked{own_, std::vector<std::uint8_t>(own_.size(), 1), "call"};
    if (all_right(slots)) return std::move(checked.alive);
    check_rules(checked);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> keys;
    for (const std::uint32_t place : own_) {
      const auto call = records_[place].as<Call>();
      keys.emplace_back(call.communicator, call.sequence);
    }
    const auto once = first_of_each(keys);
    check(checked, "sequence", &Call::sequence, "a number that comes once",
          [&](std::size_t at) { return once[at] != 0; });
    check_span(checked, "arrival", &Call::arrival,
               "in the time that the file tells, with its exit");
    const auto turn = in_turn(checked);
    check(checked, "arrival", &Call::arrival, "after the exit of the call before",
          [&](std::size_t at) { return turn[at] != 0; });
    return std::move(checked.alive);
  }

  std::vector<std::uint8_t> right_messages() {
    Checked<Message> checked{own_, std::vector<std::uint8_t>(own_.size(), 1), "message"};
    if (!all_right()) {
      check_rules(checked);
      std::vector<std::uint32_t> orders;
      for (const std::uint32_t place : own_) orders.push_back(records_[place].as<Message>().order);
      const auto once = first_of_each(orders);
      check(checked, "order", &Message::order, "a number that comes once",
            [&](std::size_t at) { return once[at] != 0; });
      check_span(checked, "posted", &Message::posted,
                 "in the time that the file tells, with its end");
    }
    return std::move(checked.alive);
  }

  std::vector<std::uint8_t> right_others() {
    Checked<Other> checked{own_, std::vector<std::uint8_t>(own_.size(), 1), "time in other calls"};
    check_rules(checked);
    check_span(checked, "begin", &Other::begin, "in the time that the file tells, with its end");
    return std::move(checked.alive);
  }

 private:
  /// True if nothing is wrong with any of them, as in nearly all files.
  bool all_right(const Numbered& slots) const {
    struct Before {
      bool any = false;
      std::uint64_t sequence = 0;
      std::int64_t exit = 0;
    };
    std::vector<Before> before(file_.comms.size());
    for (const std::uint32_t place : own_) {
      const auto call = records_[place].as<Call>();
      if (!is_within(file_.header, call) || !keeps_rules(call)) return false;
      Before& own = before[static_cast<std::size_t>(slots[call.communicator])];
      if (own.any && call.sequence <= own.sequence) return false;
      own.any = true;
      own.sequence = call.sequence;
      if (call.overlaps != 0) continue;
      if (call.arrival < own.exit) return false;
      own.exit = call.exit;
    }
    return true;
  }
  bool all_right() const {
    std::int64_t before = -1;
    for (const std::uint32_t place : own_) {
      const auto message = records_[place].as<Message>();
      const bool follows = is_within(file_.header, message) && message.order > before;
      if (!follows || !keeps_rules(message)) return false;
      before = message.order;
    }
    return true;
  }

  template <class Record>
  [[nodiscard]] bool keeps_rules(const Record& record) const {
    bool all = true;
    const auto look = [&](auto, auto, auto, auto&& holds) { all = all && holds(record); };
    rules_of(&record, about_, look, look);
    return all;
  }

  /// `words`: the records stay, without the word.
  template <class Record, class Value, class Holds>
  void check(Checked<Record>& checked, const std::string& name, Value Record::* member,
             const std::string& right, Holds&& holds, bool words = false) {
    std::uint64_t bad = 0;
    std::size_t first = 0;
    for (std::size_t at = 0; at < checked.places.size(); ++at) {
      if (checked.alive[at] == 0 || holds(at)) continue;
      if (bad++ == 0) first = at;
      if (!words) checked.alive[at] = 0;
    }
    if (bad == 0) return;
    const std::uint32_t place = checked.places[first];
    const auto record = records_[place].as<Record>();
    file_.add({std::string(words ? "words of " : "") + checked.noun + "s whose " + name +
                   " is not " + right,
               byte_of(place) + place_of(member),
               name + " of a " + checked.noun + ": " + text_of(record.*member), bad});
  }

  template <class Record>
  void check_rules(Checked<Record>& checked) {
    const auto checking = [&](bool words) {
      return [&, words](const char* name, auto member, const char* right, auto&& holds) {
        const auto right_at = [&](std::size_t at) {
          return holds(records_[checked.places[at]].template as<Record>());
        };
        check(checked, name, member, right, right_at, words);
      };
    };
    rules_of(static_cast<const Record*>(nullptr), about_, checking(false), checking(true));
  }

  /// Those before the file's begin or after its end are wrong, unless most are.
  template <class Record>
  void check_span(Checked<Record>& checked, const char* name, std::int64_t Record::* member,
                  const char* right) {
    const Header& header = file_.header;
    if (header.end != 0 && header.end < header.begin) return;
    const auto within = [&](std::size_t at) {
      return is_within(header, records_[checked.places[at]].template as<Record>());
    };
    std::uint64_t alive = 0;
    std::uint64_t inside = 0;
    for (std::size_t at = 0; at < checked.places.size(); ++at) {
      if (checked.alive[at] == 0) continue;
      ++alive;
      if (within(at)) ++inside;
    }
    if (2 * inside <= alive) return;  // the header is at fault
    check(checked, name, member, right, within);
  }

  /// Which of them is the first of its key.
  template <class Key>
  static std::vector<std::uint8_t> first_of_each(const std::vector<Key>& keys) {
    std::vector<std::uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t at) { return keys[at]; });
    std::vector<std::uint8_t> first(keys.size(), 1);
    for (std::size_t at = 1; at < order.size(); ++at) {
      if (keys[order[at]] == keys[order[at - 1]]) first[order[at]] = 0;
    }
    return first;
  }

  /// Without the fewest calls that must be wrong, where one begins before another has ended: a
  /// rank's calls on a communicator follow each other.
  std::vector<std::uint8_t> in_turn(const Checked<Call>& checked) const {
    std::map<std::uint32_t, std::vector<std::pair<Call, std::size_t>>> by_comm;
    for (std::size_t at = 0; at < checked.places.size(); ++at) {
      const auto call = records_[checked.places[at]].as<Call>();
      if (checked.alive[at] == 0 || call.overlaps != 0) continue;
      by_comm[call.communicator].emplace_back(call, at);
    }
    std::vector<std::uint8_t> good(checked.places.size(), 1);
    for (auto& [comm, own] : by_comm) {
      std::ranges::stable_sort(own, {}, [](const auto& each) { return each.first.sequence; });
      bool fits = true;
      for (std::size_t at = 1; at < own.size(); ++at) {
        fits = fits && own[at].first.arrival >= own[at - 1].first.exit;
      }
      if (fits) continue;
      for (const auto& [call, at] : own) good[at] = 0;
      for (const std::size_t each : longest_series(own)) good[own[each].second] = 1;
    }
    return good;
  }

  /// The places of the most calls of which each begins when the one before has ended.
  static std::vector<std::size_t> longest_series(
      const std::vector<std::pair<Call, std::size_t>>& calls) {
    constexpr std::size_t kNoCall = ~std::size_t{0};
    std::vector<std::int64_t> least;  // of all series of 1, 2, ... calls the least end, ...
    std::vector<std::size_t> last;    // ... and the place of its last call
    std::vector<std::size_t> before(calls.size(), kNoCall);
    for (std::size_t at = 0; at < calls.size(); ++at) {
      const Call& call = calls[at].first;
      const auto found = std::ranges::upper_bound(least, call.arrival);
      const auto length = static_cast<std::size_t>(found - least.begin());
      if (length > 0) before[at] = last[length - 1];
      if (length == least.size()) {
        least.push_back(call.exit);
        last.push_back(at);
      } else if (call.exit < least[length]) {
        least[length] = call.exit;
        last[length] = at;
      }
    }
    std::vector<std::size_t> found;
    for (std::size_t at = last.empty() ? kNoCall : last.back(); at != kNoCall; at = before[at]) {
      found.push_back(at);
    }
    return found;
  }

  const std::vector<Raw>& records_;
  const std::vector<std::uint32_t>& own_;
  const About& about_;
  RankFile& file_;
};

CallsOf of(std::vector<std::pair<std::uint64_t, std::uint32_t>>& calls, SharedNumbers& shared) {
  if (!std::ranges::is_sorted(calls)) std::ranges::sort(calls);
  std::vector<std::uint64_t> sequence;
  std::vector<std::uint32_t> place;
  for (const auto& [number, at] : calls) {
    sequence.push_back(number);
    place.push_back(at);
  }
  return {shared.sequences(std::move(sequence)), shared.places(std::move(place))};
}

}  // namespace

void read_calls(const OfKind& calls, const Numbered& slots, RankFile& file, SharedNumbers& shared) {
  const auto& own = calls.places;
  const auto right = Checks(calls, file).right_calls(slots);
  using Keyed = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
  std::vector<std::array<Keyed, 2>> found(file.comms.size());
  for (std::size_t at = 0; at < own.size(); ++at) {
    if (right[at] == 0) continue;
    const auto call = calls.records[own[at]].as<Call>();
    found[static_cast<std::size_t>(slots[call.communicator])][call.overlaps].emplace_back(
        call.sequence, own[at]);
    if (call.overlaps == 0) file.last_exit = std::max(file.last_exit, call.exit);
    file.slept += call.slept();
  }
  for (std::size_t at = 0; at < found.size(); ++at) {
    file.comms[at].calls = of(found[at][0], shared);
    file.comms[at].overlapping = of(found[at][1], shared);
  }
}

void read_messages(const OfKind& messages, RankFile& file) {
  const auto& own = messages.places;
  const auto right = Checks(messages, file).right_messages();
  for (std::size_t at = 0; at < own.size(); ++at) {
    const auto message = messages.records[own[at]].as<Message>();
    if (right[at] != 0) {
      file.messages.push_back(message);
    } else {
      file.messages_whole = std::min<std::uint64_t>(file.messages_whole, message.order);
    }
  }
  if (const std::uint64_t lost = file.header.first_lost; lost > 0) {
    file.messages_whole = std::min(file.messages_whole, lost - 1);
  }
}

void read_others(const OfKind& others, RankFile& file) {
  const auto right = Checks(others, file).right_others();
  for (std::size_t at = 0; at < right.size(); ++at) {
    if (right[at] != 0) file.others.push_back(others.records[others.places[at]].as<Other>());
  }
}

}  // namespace latecomer::trace
