// An estimator's recent errors, and whether its claims came true.
#pragma once

#include "forecast/prediction_record.hpp"

namespace latecomer {

/// A record of the last 32 predictions. Older ones are forgotten entirely, so that one enormous
/// error, as in a first call, does not last; the longest period fits, so a miss in every 32nd call
/// is in it.
class TrackRecord {
 public:
  static constexpr std::size_t kWindow = 32;

  /// Adds a prediction with its misplacement and the imbalance that it predicted; seconds.
  void add(Seconds misplacement, Seconds predicted);

  /// The number of predictions ever added.
  [[nodiscard]] std::size_t count() const { return record_.count(); }
  /// The mean misplacement of the last `predictions`, at least 1 and at most those in the window;
  /// seconds.
  [[nodiscard]] Seconds mean(std::size_t predictions) const;
  /// The larger misplacement of the last two calls, seconds.
  [[nodiscard]] Seconds recent() const {
    return std::max(record_.misplaced(1), record_.misplaced(2));
  }

  /// True if the estimator claims so much imbalance: in the last two calls it was right enough that
  /// the ranks predicted to be last would have arrived after all those in the earlier half of it.
  [[nodiscard]] bool claims(Seconds predicted) const;
  /// True if the estimator claims so much, and such claims in the window came true.
  [[nodiscard]] bool proven(Seconds predicted) const {
    return claims(predicted) && record_.any(predicted) && record_.few_wrong(predicted);
  }

 private:
  PredictionRecord<kWindow> record_;
};

}  // namespace latecomer
