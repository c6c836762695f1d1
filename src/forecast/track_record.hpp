// How wrong an estimator was lately, and whether what it claimed came true.
#pragma once

#include "forecast/prediction_record.hpp"

namespace latecomer {

/// Of the last 32 predictions. What is older is forgotten entirely, so that one enormous error, as
/// in a first call, does not last; the longest period fits into it, so a miss every 32nd call is in
/// it.
class TrackRecord {
 public:
  static constexpr std::size_t kWindow = 32;

  /// A prediction was seen: its misplacement, and how much imbalance it had predicted; seconds.
  void add(Seconds misplacement, Seconds predicted);

  /// Predictions ever seen.
  [[nodiscard]] std::size_t count() const { return record_.count(); }
  /// Mean misplacement of the last `predictions`, at least 1 and at most those in the window;
  /// seconds.
  [[nodiscard]] Seconds mean(std::size_t predictions) const;
  /// The larger misplacement of the last two calls, seconds.
  [[nodiscard]] Seconds recent() const {
    return std::max(record_.misplaced(1), record_.misplaced(2));
  }

  /// A claim: in the last two calls the estimator was right enough for so much imbalance that the
  /// ranks predicted to be last would have come after all those in the earlier half of it.
  [[nodiscard]] bool claims(Seconds predicted) const;
  /// It claims so much, and such claims were made in the window and came true.
  [[nodiscard]] bool proven(Seconds predicted) const {
    return claims(predicted) && record_.any(predicted) && record_.few_wrong(predicted);
  }

 private:
  PredictionRecord<kWindow> record_;
};

}  // namespace latecomer
