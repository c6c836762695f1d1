// Watches when the ranks of a communicator arrive: what each call showed, and who is expected when
// in the next one. All ranks know the same, bit by bit, at the end of every call, so that they make
// the same plans of it.
#pragma once

#include <vector>

#include "arrival/forecasts.hpp"
#include "schedule/problem.hpp"
#include "telemetry/stamps.hpp"

namespace latecomer {

class Watch {
 public:
  Watch(Rank me, Rank ranks) : me_(me), stamps_(ranks), forecasts_(ranks) {}

  /// A call is to be planned, the same on all ranks: who is expected when in it, seconds after the
  /// earliest; empty: all together, or nobody knows. Every call that is planned is told of once.
  [[nodiscard]] std::vector<Seconds> expect(const Problem& problem);

  /// The call begins, at the latest when this rank enters it. Returns what travels along with its
  /// messages.
  Courier& begin();
  /// This rank enters the call that began, `now` on the clock that all ranks share.
  void arrive(Seconds now);
  /// Both.
  Courier& enter(Seconds now) {
    Courier& courier = begin();
    arrive(now);
    return courier;
  }
  /// It leaves: all ranks have told.
  void leave(Seconds now);

  /// When the last rank entered the last call, on the clock that all ranks share; 0 before the
  /// first.
  [[nodiscard]] Seconds last_arrival() const;
  /// When each rank entered the last call, seconds after the earliest; empty before the first.
  [[nodiscard]] std::vector<Seconds> last() const;
  /// Who is expected when in the next call like the last one.
  [[nodiscard]] Estimate expected_again() const { return forecasts_.next(history_); }

 private:
  Rank me_;
  Stamps stamps_;
  Forecasts forecasts_;
  HistoryKey history_;
  Seconds arrived_ = 0;
  float elapsed_before_ = 0;
  std::vector<Seconds> arrivals_;  // of the last call, on the shared clock
};

}  // namespace latecomer
