// Watches the arrivals of a communicator's ranks: those of each call, and those expected in the
// next one. At the end of every watched call all ranks know the same bits, so that they make the
// same plans.
#pragma once

#include <optional>
#include <vector>

#include "base/types.hpp"
#include "forecast/forecast.hpp"
#include "protocol/transport.hpp"
#include "schedule/problem.hpp"
#include "telemetry/mostly_late.hpp"

namespace latecomer {

// The telemetry of one call: when each rank entered it. Every rank knows all stamps when the call
// ends, since they are piggybacked on the messages that carry the ranks' data.
//
// A rank that has the result has every stamp: each contribution came over a chain of messages. The
// algorithm decides which messages must carry stamps for this to hold (Algorithm::informs_all,
// docs/decisions/0012).

/// One rank's stamp, in seconds on the clock that all ranks share.
struct ArrivalStamp {
  Seconds arrival = 0;
  float elapsed_before = 0;  // exit minus arrival in the call before; 0: there was none
  float elapsed = 0;         // exit minus arrival in this call, if it is over already; else 0

  bool operator==(const ArrivalStamp&) const = default;
};

class ArrivalStamps final : public Piggyback {
 public:
  explicit ArrivalStamps(Rank ranks) : stamps_(static_cast<std::size_t>(ranks)) {
    known_.reserve(stamps_.size());
    begin();
  }

  /// Begins a call: no stamp is known.
  void begin();
  /// Notes this rank's own stamp.
  void arrive(Rank me, const ArrivalStamp& stamp) { learn(me, stamp); }

  [[nodiscard]] bool complete() const { return known_.size() == stamps_.size(); }
  /// The stamps by rank. A stamp that is not known yet is the last call's.
  [[nodiscard]] const std::vector<ArrivalStamp>& all() const { return stamps_; }

  void pack(std::vector<char>& to) override;
  void unpack(const char* data, std::size_t bytes) override;

 private:
  void learn(Rank rank, const ArrivalStamp& stamp);

  std::vector<ArrivalStamp> stamps_;
  std::vector<bool> heard_;
  std::vector<Rank> known_;  // ranks whose stamp is known, in the order of receipt
};

// How far the ranks of a program wait for each other between two calls, in a barrier for instance.

/// Estimated by the arrivals that follow exits: a rank that leaves a call later than it usually
/// does comes later to the next one, unless ranks wait for each other in between.
class Synchrony {
 public:
  /// Notes the exits from a call and the arrivals in the next one, by rank, on one clock.
  void learn(const std::vector<Seconds>& exits, const std::vector<Seconds>& next);
  /// 0: each rank goes on by itself; 1: all wait for each other. One half before anything is known.
  [[nodiscard]] double estimate() const { return estimate_; }

 private:
  static constexpr double kRenewal = 0.125;  // part of what is known that a call renews

  /// The usual times of a rank, against the mean over the ranks.
  struct Usual {
    Seconds exit = 0;
    Seconds arrival = 0;
  };

  std::vector<Usual> usual_;
  double variance_ = 0;    // of exits; sums that fade
  double covariance_ = 0;  // of exits and the next arrivals
  double estimate_ = 0.5;
};

/// How long a call took from its last arrival on.
struct Taken {
  Seconds mean = 0;     // until the exits, the mean over the ranks
  Seconds on_last = 0;  // until the exit of the rank that came last
};

class Watch {
 public:
  Watch(Rank me, Rank ranks) : me_(me), stamps_(ranks), forecasts_(ranks) {}

  /// Begins planning a call, alike on all ranks. Returns the expected arrivals in seconds after the
  /// earliest; empty if all are expected together or nothing is known. Every planned call is
  /// watched or missed once.
  [[nodiscard]] const std::vector<Seconds>& expect(const Problem& problem);
  /// As expect(), for a call that needs no expected arrivals; no forecast is kept of it.
  void enter_class(const Problem& problem);

  /// Begins the call, at the latest when this rank enters it. Returns the data to piggyback on its
  /// messages.
  Piggyback& begin();
  /// Notes that this rank enters the call at `now` on the clock that all ranks share.
  void arrive(Seconds now);
  /// Begins the call and notes the arrival.
  Piggyback& enter(Seconds now) {
    Piggyback& piggyback = begin();
    arrive(now);
    return piggyback;
  }
  /// Begins the arrival exchange after a call that the MPI library has executed, which this
  /// rank was in from `arrived` to `left`. Returns the data to piggyback on the exchange's
  /// messages. `deciding`: seconds from its arrival until the collective began, which count neither
  /// for nor against it.
  Piggyback& begin_exchange(Seconds arrived, Seconds left, Seconds deciding = 0);
  /// Notes that this rank leaves the call, with all stamps known. Not after begin_exchange().
  void leave(Seconds now, Seconds deciding = 0);
  /// Ends the arrival exchange: all stamps are known.
  void end_exchange();
  /// Notes a call, over by now, whose arrivals are not exchanged.
  void miss() { before_ = {}; }

  /// The duration of a call: the seconds from the last arrival to the exits. taken() is known for
  /// the last call if its arrivals were exchanged after it, taken_before() for the call before if
  /// both were watched.
  [[nodiscard]] std::optional<Taken> taken() const { return taken_; }
  [[nodiscard]] std::optional<Taken> taken_before() const { return taken_before_; }
  /// The cost of the call before, if both calls were watched: the seconds by which it delayed the
  /// program, against a call that all ranks leave when the last one comes.
  [[nodiscard]] std::optional<Seconds> cost_before() const { return cost_before_; }

  /// The time when the last rank entered the last watched call, on the clock that all ranks share;
  /// 0 before the first.
  [[nodiscard]] Seconds last_arrival() const;
  /// In the last call: the time of this rank from its arrival to the last arrival before it left.
  /// `by_all`: nobody leaves the call before all have entered it, whatever clocks say.
  [[nodiscard]] Seconds waited(bool by_all) const;
  /// All its time in that call.
  [[nodiscard]] Seconds inside() const { return left_ - arrived_; }
  /// From the last arrival until it left; below 0: it left before.
  [[nodiscard]] Seconds after_last_arrival() const { return left_ - last_arrival(); }
  /// True if the last call was watched, so that the functions above are about it.
  [[nodiscard]] bool watched() const { return before_.watched; }
  /// The history of the last planned call.
  [[nodiscard]] const HistoryKey& history() const { return history_; }
  /// The last watched call's arrivals in seconds after the earliest; empty before the first.
  [[nodiscard]] const std::vector<Seconds>& last() const { return lateness_; }
  /// Sets the placement of the ranks, which mostly_late() goes by.
  void place(const Placement& placement) { mostly_late_.place(placement); }
  /// The ranks that mostly come late; empty before the first watched call.
  [[nodiscard]] const std::vector<bool>& mostly_late() const { return mostly_late_.ranks(); }
  /// The forecast for the next call like the last one.
  [[nodiscard]] Estimate expected_again() const { return forecasts_.next(history_); }

 private:
  /// The call before the one at hand.
  struct Before {
    bool exits_known = false;  // else the next call's stamps bring them
    float elapsed = 0;         // of this rank
    bool watched = false;
  };

  void observe();
  [[nodiscard]] Taken taken_until_exits() const;
  [[nodiscard]] Seconds cost_until_arrivals(Seconds last_before);

  Rank me_;
  ArrivalStamps stamps_;
  Forecasts forecasts_;
  HistoryKey history_;
  bool forecasts_this_ = false;
  Seconds arrived_ = 0;
  Seconds left_ = 0;
  Before before_;
  std::vector<Seconds> lateness_;  // in the last watched call, after the earliest rank
  MostlyLate mostly_late_;
  // Arrivals of the last watched call, and exits of the call before it or, from an exchange, its
  // own; on the shared clock.
  Observation seen_;
  std::optional<Taken> taken_;
  std::optional<Taken> taken_before_;
  Synchrony synchrony_;
  std::optional<Seconds> cost_before_;
};

}  // namespace latecomer
