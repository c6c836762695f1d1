// All estimators over one signal: each predicts the next pattern from the patterns that were added.
#pragma once

#include "arrival/averages.hpp"

namespace latecomer {

/// Estimators by number: 0 repeats the last pattern, k - 1 the one of k calls ago (a rank that is
/// late in every k-th call), up to 32 calls ago; then the averages, the trend and the shift.
namespace estimator {
inline constexpr int kMovingAverage = PatternHistory::kLongest;
inline constexpr int kExponentialAverage = kMovingAverage + 1;
inline constexpr int kTrend = kMovingAverage + 2;
inline constexpr int kShift = kMovingAverage + 3;
inline constexpr int kCount = kMovingAverage + 4;

/// How many of its predictions must have been seen before it may be chosen: two, and one for which
/// they could vouch. A period must have been gone through once more: before that it may fit only
/// because nothing has happened in it yet.
[[nodiscard]] constexpr int trial(int number) {
  return number < kMovingAverage ? std::max(3, number + 1) : 3;
}
}  // namespace estimator

class Estimators {
 public:
  explicit Estimators(Rank ranks) : history_(ranks), exponential_(ranks) {}

  void add(std::span<const Seconds> pattern);
  /// Whether there are patterns enough for the estimator to say anything.
  [[nodiscard]] bool ready(int number) const;
  /// The next pattern, seconds, by an estimator that is ready.
  void predict(int number, std::span<Seconds> next) const;

 private:
  PatternHistory history_;
  ExponentialAverage exponential_;
};

}  // namespace latecomer
