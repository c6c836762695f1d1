#include "arrival/call_sequence.hpp"

#include <algorithm>
#include <string>

#include "base/hash.hpp"

namespace latecomer {

/// Of what MPI makes equal on all ranks.
CallKey call_key(const Problem& problem) {
  return fnv1a(std::string(to_string(problem.collective)) + ' ' + std::to_string(problem.bytes()) +
               (rooted(problem.collective) ? " root " + std::to_string(problem.root) : "") +
               (problem.commutative ? " commutative" : "") + (problem.exact ? " exact" : ""));
}

void CallSequence::add(CallKey key) {
  count_held(key);
  keys_[calls_++ % kSlots] = key;
  const int before = period_;
  period_ = longest_held();
  if (period_ == 0) {
    position_ = 0;
  } else if (period_ == before && held(period_) > static_cast<std::uint64_t>(period_)) {
    position_ = (position_ + 1) % period_;
  } else {
    position_ = (period_ - least_rotation()) % period_;
  }
}

void CallSequence::count_held(CallKey key) {
  for (int period = 1; period <= kLongestPeriod; ++period) {
    if (calls_ < static_cast<std::uint64_t>(period)) break;
    std::uint64_t& held = held_[static_cast<std::size_t>(period)];
    held = key == ago(period) ? held + 1 : 0;
  }
}

/// The true period holds on while shorter ones that fit inside it break, and its multiples have
/// held less long.
int CallSequence::longest_held() const {
  int best = 0;
  for (int period = 1; period <= kLongestPeriod; ++period) {
    if (held(period) < static_cast<std::uint64_t>(period)) continue;
    if (best == 0 || held(period) > held(best)) best = period;
  }
  return best;
}

/// Where the least rotation of the last `period_` keys starts, counted from the oldest of them.
int CallSequence::least_rotation() const {
  int best = 0;
  int other = 1;
  for (int same = 0; other < period_ && same < period_;) {
    const CallKey of_best = ago(period_ - (best + same) % period_);
    const CallKey of_other = ago(period_ - (other + same) % period_);
    if (of_best == of_other) {
      ++same;
      continue;
    }
    // No rotation that starts within the common part can be less than both.
    if (of_other < of_best) {
      const int passed = best + same + 1;
      best = std::max(other, passed);
      other = best + 1;
    } else {
      other += same + 1;
    }
    same = 0;
  }
  return best;
}

HistoryKey CallSequence::place(CallKey key) const {
  if (period_ == 0 || key != expected()) return {key};
  int found = 0;
  for (int calls = 1; calls <= period_; ++calls) found += ago(calls) == key ? 1 : 0;
  return found == 1 ? HistoryKey{key} : HistoryKey{key, period_, position_};
}

}  // namespace latecomer
