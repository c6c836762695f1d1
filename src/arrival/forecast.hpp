// Who will be late in the next call, from what earlier calls with the same key showed. Ranks that
// are given the same bits answer with the same bits: sums and medians in rank order, no more.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "arrival/estimators.hpp"
#include "arrival/observation.hpp"
#include "arrival/track_record.hpp"

namespace latecomer {

struct Estimate {
  std::vector<Seconds> arrivals;  // after the earliest one; all 0 (balanced) unless trusted
  Seconds error = 0;              // recent mean over the ranks of |predicted - actual| arrival
  bool trusted = false;
  std::string_view method = "none";  // signal and estimator, e.g. lateness_periodic
};

/// The forecast of one history. Time a call: O(ranks) for each of 72 estimators; memory: the last
/// 32 patterns of two signals. docs/decisions/0013-forecast.md says why the numbers are what they
/// are.
class Forecast {
 public:
  /// Throws Error unless there is a rank.
  explicit Forecast(Rank ranks);

  /// Throws Error, and then keeps nothing of it, for values that are no times of these ranks.
  void observe(const Observation& observation);
  [[nodiscard]] Estimate next() const;

 private:
  using Pattern = std::vector<Seconds>;

  /// What estimators look at, and how they did.
  struct Signal {
    explicit Signal(Rank ranks) : estimators(ranks), exits(static_cast<std::size_t>(ranks)) {}

    Estimators estimators;
    Pattern exits;  // expected pattern of exits, which the predictions start from
    std::array<TrackRecord, estimator::kCount> records{};
  };
  struct Method {
    int signal = 0;
    int estimator = 0;
  };

  void judge(const Pattern& lateness);
  void judge_forecast(const Pattern& lateness);
  void choose();
  void predict(Method method, Pattern& lateness) const;
  [[nodiscard]] const TrackRecord& record(Method method) const;
  [[nodiscard]] bool tried(Method method) const;

  Rank ranks_;
  std::array<Signal, 2> signals_;  // lateness, computing time
  Method chosen_;
  Pattern predicted_;  // lateness in the next call by the chosen method; empty: none yet
  bool proven_ = false;
  // Of all that was chosen and proven: with 72 methods one is always proven by luck, but not right.
  ClaimRecord<8> own_record_;
  Seconds error_ = 0;
  std::size_t judged_ = 0;
};

}  // namespace latecomer
