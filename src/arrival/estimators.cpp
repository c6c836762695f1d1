#include "arrival/estimators.hpp"

#include "arrival/shift.hpp"
#include "arrival/trend.hpp"

namespace latecomer {
namespace {

/// With fewer patterns an average is the last value, and a trend the difference of two.
int patterns_needed(int number) {
  if (number < estimator::kMovingAverage) return number + 1;
  return number == estimator::kTrend ? 3 : 2;
}

}  // namespace

void Estimators::add(std::span<const Seconds> pattern) {
  history_.add(pattern);
  exponential_.add(pattern);
}

bool Estimators::ready(int number) const { return history_.size() >= patterns_needed(number); }

void Estimators::predict(int number, std::span<Seconds> next) const {
  switch (number) {
    case estimator::kMovingAverage:
      return moving_average(history_, next);
    case estimator::kExponentialAverage:
      return exponential_.predict(next);
    case estimator::kTrend:
      return trend(history_, next);
    case estimator::kShift:
      return shift(history_, next);
    default:
      const auto past = history_.ago(number + 1);
      std::copy(past.begin(), past.end(), next.begin());
  }
}

}  // namespace latecomer
