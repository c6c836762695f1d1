#include "forecast/call_sequence.hpp"

#include <algorithm>
#include <bit>

namespace latecomer {

namespace {

/// FNV-1a of 64-bit words, with the high bits folded back, so that all bits depend on all words.
class KeyHash {
 public:
  KeyHash& add(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x100000001b3ULL;
    hash_ ^= hash_ >> 32U;
    return *this;
  }
  [[nodiscard]] CallKey key() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

CallKey key_of(const Problem& problem, Count bytes) {
  const auto kind = static_cast<std::uint64_t>(problem.collective);
  const bool has_root = rooted(problem.collective);
  const std::uint64_t flags =
      (has_root ? 1U : 0U) | (problem.commutative ? 2U : 0U) | (problem.exact ? 4U : 0U);
  return KeyHash()
      .add(kind << 8U | flags)
      .add(static_cast<std::uint64_t>(bytes))
      .add(has_root ? static_cast<std::uint64_t>(problem.root) : 0)
      .key();
}

/// The smallest size of a size's class.
Count class_of(Count bytes) {
  constexpr unsigned kBits = 4;  // kept of a size: eighths of an octave
  const auto size = static_cast<std::uint64_t>(bytes);
  const auto width = static_cast<unsigned>(std::bit_width(size));
  const unsigned less = width > kBits ? width - kBits : 0;
  return static_cast<Count>(size >> less << less);
}

}  // namespace

/// Hashes the facts that MPI makes equal on all ranks.
CallKey call_key(const Problem& problem) { return key_of(problem, problem.bytes()); }

CallKey class_key(const Problem& problem) { return key_of(problem, class_of(problem.bytes())); }

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
    position_ = (period_ - minimal_rotation()) % period_;
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

/// The start of the minimal rotation of the last `period_` keys, counted from the oldest of them.
int CallSequence::minimal_rotation() const {
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
