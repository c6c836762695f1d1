// All estimators over one signal: each predicts the next pattern from the patterns that were added.
#pragma once

#include "forecast/pattern_history.hpp"

namespace latecomer {

/// Estimators by number, for a history of `depth` patterns: 0 repeats the last pattern, k - 1 the
/// one of k calls ago (a rank that is late in every k-th call), up to `depth` calls ago; then the
/// mean of the last 8 patterns, the exponential mean, the trend and the shift. Marendic 2012
/// proposes means for arrivals, Proficz 2021 names exponential ones as future work.
struct EstimatorNumbers {
  int depth = PatternHistory::kLongest;

  [[nodiscard]] constexpr int moving_average() const { return depth; }
  [[nodiscard]] constexpr int exponential_average() const { return depth + 1; }
  [[nodiscard]] constexpr int trend() const { return depth + 2; }
  [[nodiscard]] constexpr int shift() const { return depth + 3; }
  [[nodiscard]] constexpr int count() const { return depth + 4; }

  /// The number of predictions that an estimator must have made before it may be chosen: two, and
  /// one that these could vouch for. A period must have passed once more: before that it may fit
  /// only because nothing has happened in it yet.
  [[nodiscard]] constexpr int trial(int number) const {
    return number < depth ? std::max(3, number + 1) : 3;
  }
  /// True if leaving out calls like those before hardly changes what the estimator predicts.
  [[nodiscard]] constexpr bool gap_tolerant(int number) const {
    return number == 0 || number == moving_average() || number == exponential_average();
  }
};

class Estimators {
 public:
  explicit Estimators(Rank ranks, int depth = PatternHistory::kLongest) : history_(ranks, depth) {}

  void add(std::span<const float> pattern) { history_.add(pattern); }
  /// Notes that calls were left out: how many calls ago earlier patterns were is not known.
  void note_gap() { history_.note_gap(); }
  /// True if there are enough patterns for the estimator.
  [[nodiscard]] bool ready(int number) const;
  /// Predicts the next pattern, in seconds, by an estimator that is ready.
  void predict(int number, std::span<float> next) const;

 private:
  void moving_average(std::span<float> next) const;

  PatternHistory history_;
};

}  // namespace latecomer
