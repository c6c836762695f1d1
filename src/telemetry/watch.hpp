// Watches when the ranks of a communicator arrive: what each call showed, and who is expected when
// in the next one. All ranks know the same, bit by bit, at the end of every call, so that they make
// the same plans of it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "schedule/plan.hpp"
#include "telemetry/stamps.hpp"

namespace latecomer {

class Watch {
 public:
  Watch(Rank me, Rank ranks) : me_(me), stamps_(ranks) {}

  /// Seconds that each rank is expected to be late in the next call like this one; empty: all are
  /// expected together.
  [[nodiscard]] std::vector<Seconds> expected(const Problem& problem) const;

  /// This rank enters a call, `now` on the clock that all ranks share. Returns what travels along
  /// with its messages.
  Courier& enter(Seconds now);
  /// It leaves: all ranks have told.
  void leave(const Problem& problem, Seconds now);

  /// The same, in the next call like the last one.
  [[nodiscard]] std::vector<Seconds> expected_again() const { return expected(last_key_); }
  /// When each rank entered the last call, relative to the earliest; empty before the first.
  [[nodiscard]] const std::vector<Seconds>& last() const { return last_; }

 private:
  using Key = std::uint64_t;
  static Key key_of(const Problem& problem);
  [[nodiscard]] std::vector<Seconds> expected(Key key) const;

  Rank me_;
  Stamps stamps_;
  float elapsed_before_ = 0;
  Seconds arrived_ = 0;
  std::vector<Seconds> last_;
  Key last_key_ = 0;
  std::map<Key, std::vector<Seconds>> seen_;
};

}  // namespace latecomer
