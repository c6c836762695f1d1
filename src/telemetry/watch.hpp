// Watches when the ranks of a communicator arrive: what each call showed, and who is expected when
// in the next one. All ranks know the same, bit by bit, at the end of every call that is watched,
// so that they make the same plans of it.
#pragma once

#include <optional>
#include <vector>

#include "forecast/forecasts.hpp"
#include "schedule/problem.hpp"
#include "telemetry/arrival_stamps.hpp"

namespace latecomer {

class Watch {
 public:
  Watch(Rank me, Rank ranks) : me_(me), stamps_(ranks), forecasts_(ranks) {}

  /// A call is to be planned, the same on all ranks: who is expected when in it, seconds after the
  /// earliest; empty: all together, or nobody knows. Every call that is planned is told of once.
  [[nodiscard]] const std::vector<Seconds>& expect(const Problem& problem);
  /// In its place where nobody asks who is expected: of such a call no forecast is made.
  void enter_class(const Problem& problem);

  /// The call begins, at the latest when this rank enters it. Returns what travels along with its
  /// messages.
  Piggyback& begin();
  /// This rank enters the call that began, `now` on the clock that all ranks share.
  void arrive(Seconds now);
  /// Both.
  Piggyback& enter(Seconds now) {
    Piggyback& piggyback = begin();
    arrive(now);
    return piggyback;
  }
  /// The same of a call that another library has carried out by now: what is told comes after it.
  Piggyback& begin_exchange(Seconds arrived, Seconds left);
  /// It leaves: all ranks have told. Not after tell_of, where the call was over already.
  void leave(Seconds now);
  /// What had to be done after the call that this rank left is done: it counts as part of it.
  void concluded(Seconds now) { before_.elapsed = static_cast<float>(now - arrived_); }
  /// All have told of a call that was over.
  void end_exchange();
  /// A call that nobody tells of, over by now.
  void miss() { before_ = {}; }

  /// What a call took: the mean over the ranks of exit minus last arrival. Known of the last call
  /// if it was over when it was told of; of the one before if both were watched.
  [[nodiscard]] std::optional<Seconds> taken() const { return taken_; }
  [[nodiscard]] std::optional<Seconds> taken_before() const { return taken_before_; }

  /// When the last rank entered the last call that was watched, on the clock that all ranks share;
  /// 0 before the first.
  [[nodiscard]] Seconds last_arrival() const;
  /// Of the last call: how long this rank waited for the last one to arrive, and how long it took
  /// from then on until it left.
  [[nodiscard]] Seconds waited() const { return last_arrival() - arrived_; }
  [[nodiscard]] Seconds moved() const { return left_ - last_arrival(); }
  /// Whether the last call was told of, so that all this is about it.
  [[nodiscard]] bool watched() const { return before_.watched; }
  /// What the last call that was planned belongs to.
  [[nodiscard]] const HistoryKey& history() const { return history_; }
  /// When each rank entered it, seconds after the earliest; empty before the first.
  [[nodiscard]] const std::vector<Seconds>& last() const { return lateness_; }
  /// Who is expected when in the next call like the last one.
  [[nodiscard]] Estimate expected_again() const { return forecasts_.next(history_); }

 private:
  /// Of the call before, where it is known.
  struct Before {
    bool exits_known = false;  // else they are told with the next call
    float elapsed = 0;         // of this rank
    bool watched = false;
  };

  void observe();

  Rank me_;
  ArrivalStamps stamps_;
  Forecasts forecasts_;
  HistoryKey history_;
  bool forecasts_this_ = false;
  Seconds arrived_ = 0;
  Seconds left_ = 0;
  Before before_;
  std::vector<Seconds> lateness_;  // of the last call watched, after the earliest rank
  // Arrivals of the last call watched and exits of the one before it, or from when it was told of
  // its own exits; on the shared clock.
  Observation seen_;
  std::optional<Seconds> taken_;
  std::optional<Seconds> taken_before_;
};

}  // namespace latecomer
