#include "forecast/estimators.hpp"

#include "forecast/shift.hpp"
#include "forecast/trend.hpp"

namespace latecomer {

/// True if there are enough patterns: with fewer an average is the last value, and a trend the
/// difference of two.
bool Estimators::ready(int number) const {
  const EstimatorNumbers numbers{history_.depth()};
  if (number == 0) return history_.size() > 0;
  if (numbers.gap_tolerant(number)) return history_.size() > 1;
  if (number < numbers.depth) return history_.in_a_row() > number;
  return history_.in_a_row() >= (number == numbers.trend() ? 3 : 2);
}

void Estimators::predict(int number, std::span<float> next) const {
  const EstimatorNumbers numbers{history_.depth()};
  if (number < numbers.depth) return history_.read(number + 1, next);
  if (number == numbers.moving_average()) return moving_average(next);
  if (number == numbers.exponential_average()) return history_.read_exponential_average(next);
  if (number == numbers.trend()) return trend(history_, next);
  shift(history_, next);
}

/// The mean of the last 8 patterns, or of as many as there are.
void Estimators::moving_average(std::span<float> next) const {
  constexpr int kAveraged = 8;
  const int calls = std::min(history_.size(), kAveraged);
  history_.read(1, next);
  for (int ago = 2; ago <= calls; ++ago) history_.add_to(next, ago);
  for (float& time : next) time /= static_cast<float>(calls);
}

}  // namespace latecomer
