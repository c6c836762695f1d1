// Which calls a communicator makes again and again: the period of its sequence of keys. A training
// loop that calls A, A, B has three histories, though keys alone tell only two apart.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "schedule/problem.hpp"

namespace latecomer {

/// A hash of what MPI guarantees equal on all ranks: collective, operator, bytes, root.
using CallKey = std::uint64_t;

[[nodiscard]] CallKey call_key(const Problem& problem);

/// The same for calls of about the same size, so that sizes that never repeat have a history in
/// common: from 16 bytes on sizes fall into eighths of an octave.
[[nodiscard]] CallKey class_key(const Problem& problem);

/// What a history of calls is kept for: a key, and the position in the period where the key occurs
/// in it more than once. Period 0: the key alone says it.
struct HistoryKey {
  CallKey key = 0;
  int period = 0;
  int position = 0;

  auto operator<=>(const HistoryKey&) const = default;
};

/// Time a call: O(64).
class CallSequence {
 public:
  static constexpr int kLongestPeriod = 64;

  /// The next call has this key.
  void add(CallKey key);

  /// Of the calls up to now: the period that has held longest, of those whose pattern was gone
  /// through twice or more; 0: none. (The shortest one that held for two rounds would be 1 after
  /// each A, A in the loop A, A, B.)
  [[nodiscard]] int period() const { return period_; }
  /// Of the next call in the period, counted from the start of its least rotation: the same loop
  /// has the same positions, wherever it was entered. 0 without a period.
  [[nodiscard]] int position() const { return position_; }
  /// The next call's key, if the period goes on; without a period that of the last call.
  [[nodiscard]] CallKey expected() const { return ago(period_ == 0 ? 1 : period_); }
  /// The history of a call with this key that comes next.
  [[nodiscard]] HistoryKey place(CallKey key) const;

 private:
  static constexpr std::size_t kSlots = kLongestPeriod;

  [[nodiscard]] CallKey ago(int calls) const {
    return keys_[(calls_ - static_cast<std::uint64_t>(calls)) % kSlots];
  }
  void count_held(CallKey key);
  [[nodiscard]] int longest_held() const;
  [[nodiscard]] int minimal_rotation() const;
  [[nodiscard]] std::uint64_t held(int period) const {
    return held_[static_cast<std::size_t>(period)];
  }

  std::uint64_t calls_ = 0;
  std::array<CallKey, kSlots> keys_{};  // the last ones, in a ring
  // For each period: how many calls in a row, up to the last one, repeat those a period before.
  std::array<std::uint64_t, kLongestPeriod + 1> held_{};
  int period_ = 0;
  int position_ = 0;
};

}  // namespace latecomer
