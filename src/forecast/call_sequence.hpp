// Finds the period of a communicator's sequence of calls. A training loop that calls A, A, B has
// three histories, though keys alone distinguish only two.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "schedule/problem.hpp"

namespace latecomer {

/// A hash of what MPI guarantees equal on all ranks: collective, operator, bytes, root.
using CallKey = std::uint64_t;

[[nodiscard]] CallKey call_key(const Problem& problem);
/// The key of a call's class: calls of about the same size share it, so that sizes that never
/// repeat have a history in common. From 16 bytes on, classes are eighths of an octave.
[[nodiscard]] CallKey class_key(const Problem& problem);

/// The key of a history: a call key, and the position in the period if it occurs more than once.
/// Period 0: the call key alone.
struct HistoryKey {
  CallKey key = 0;
  int period = 0;
  int position = 0;
  auto operator<=>(const HistoryKey&) const = default;
};

class CallSequence {
 public:
  static constexpr int kLongestPeriod = 64;

  void add(CallKey key);
  /// Among the periods that were gone through at least twice, the one that has held longest; 0:
  /// none. (The shortest one would be 1 after each A, A in the loop A, A, B.)
  [[nodiscard]] int period() const { return period_; }
  /// The next call's position in the period, counted from the start of its minimal rotation, so
  /// that a loop has the same positions wherever it was entered. 0 without a period.
  [[nodiscard]] int position() const { return position_; }
  /// The next call's key, if the period goes on; without a period that of the last call.
  [[nodiscard]] CallKey expected() const { return ago(period_ == 0 ? 1 : period_); }
  /// The history of the next call, if it has this key.
  [[nodiscard]] HistoryKey place(CallKey key) const;

 private:
  [[nodiscard]] CallKey ago(int calls) const {
    return keys_[(calls_ - static_cast<std::uint64_t>(calls)) % keys_.size()];
  }
  void find_period(CallKey next);
  [[nodiscard]] int minimal_rotation() const;

  std::uint64_t calls_ = 0;
  std::array<CallKey, kLongestPeriod> keys_{};  // the last ones, in a ring
  // By period: the number of calls in a row, up to the last one, that repeat the call a period ago.
  std::array<std::uint64_t, kLongestPeriod + 1> held_{};
  int period_ = 0;
  int position_ = 0;
};

}  // namespace latecomer
