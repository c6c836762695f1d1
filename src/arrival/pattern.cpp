#include "arrival/pattern.hpp"

#include <algorithm>
#include <cmath>

namespace latecomer {

Seconds lower_median(std::vector<Seconds>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<Seconds> pattern_of(std::vector<Seconds> times) {
  std::vector<Seconds> copy(times);
  const Seconds median = lower_median(copy);
  for (Seconds& time : times) time -= median;
  return times;
}

Seconds imbalance(std::span<const Seconds> times) {
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  return *last - *first;
}

Seconds misplacement(std::span<const Seconds> predicted, std::span<const Seconds> actual) {
  Seconds least = predicted[0] - actual[0];
  Seconds most = least;
  for (std::size_t rank = 1; rank < predicted.size(); ++rank) {
    const Seconds error = predicted[rank] - actual[rank];
    least = std::min(least, error);
    most = std::max(most, error);
  }
  return most - least;
}

Seconds mean_absolute_error(std::span<const Seconds> predicted, std::span<const Seconds> actual) {
  std::vector<Seconds> errors(predicted.begin(), predicted.end());
  for (std::size_t rank = 0; rank < errors.size(); ++rank) errors[rank] -= actual[rank];
  Seconds sum = 0;
  for (const Seconds error : pattern_of(std::move(errors))) sum += std::abs(error);
  return sum / static_cast<Seconds>(predicted.size());
}

}  // namespace latecomer
