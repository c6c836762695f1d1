// A map from disjoint ranges of elements to values: one entry for many elements that are alike.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "base/types.hpp"

namespace latecomer::verifier {

template <typename Value>
class IntervalMap {
 public:
  /// The range gets the value; neighbours with an equal value become one entry with it.
  void assign(Range range, Value value) {
    if (range.empty()) return;
    const auto last = split(range.end());
    auto next = entries_.erase(split(range.begin), last);
    Count end = range.end();
    if (next != entries_.end() && next->first == end && next->second.value == value) {
      end = next->second.end;
      next = entries_.erase(next);
    }
    if (next != entries_.begin()) {
      const auto previous = std::prev(next);
      if (previous->second.end == range.begin && previous->second.value == value) {
        previous->second.end = end;
        return;
      }
    }
    entries_.emplace_hint(next, range.begin, Entry{end, std::move(value)});
  }

  /// Calls visit(Range, const Value*) for each part of the range in turn; null: no value there.
  template <typename Visit>
  void visit(Range range, Visit&& visit) const {
    auto entry = entries_.upper_bound(range.begin);
    if (entry != entries_.begin() && std::prev(entry)->second.end > range.begin) --entry;
    for (Count at = range.begin; at < range.end();) {
      const bool gap = entry == entries_.end() || entry->first > at;
      const Count limit = !gap ? entry->second.end : end_of_gap(entry, range.end());
      const Count end = std::min(limit, range.end());
      visit(Range{at, end - at}, gap ? nullptr : &entry->second.value);
      at = end;
      if (!gap) ++entry;
    }
  }

  /// Calls change(Range, Value&) for each part of the range; parts without a value get Value{}.
  template <typename Change>
  void update(Range range, Change&& change) {
    split(range.end());
    auto entry = split(range.begin);
    for (Count at = range.begin; at < range.end(); ++entry) {
      if (entry == entries_.end() || entry->first > at) {
        const Count end = std::min(end_of_gap(entry, range.end()), range.end());
        entry = entries_.emplace_hint(entry, at, Entry{end, Value{}});
      }
      at = entry->second.end;
      change(Range{entry->first, at - entry->first}, entry->second.value);
    }
  }

 private:
  struct Entry {
    Count end;
    Value value;
  };
  using Entries = std::map<Count, Entry>;  // by begin

  Count end_of_gap(typename Entries::const_iterator next, Count otherwise) const {
    return next == entries_.end() ? otherwise : next->first;
  }

  /// Makes `at` a border between entries; the first entry that begins there or later.
  typename Entries::iterator split(Count at) {
    const auto next = entries_.lower_bound(at);
    if (next == entries_.begin()) return next;
    const auto previous = std::prev(next);
    if (previous->second.end <= at) return next;
    Entry upper = previous->second;
    previous->second.end = at;
    return entries_.emplace_hint(next, at, std::move(upper));
  }

  Entries entries_;
};

}  // namespace latecomer::verifier
