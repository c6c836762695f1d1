// Patterns: the ranks' times relative to each other, in seconds. A time common to all ranks is no
// part of a pattern, because it does not change which ranks wait. So single precision is enough for
// patterns, where times on a clock need double.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "base/types.hpp"

namespace latecomer {

/// Writes the times minus their middle into `pattern`. The middle is the lower median, of 17 ranks
/// evenly spread where there are more: unlike a mean or a minimum it stays where it is when one
/// rank is late or early, so that the others do not seem to move.
void pattern_of(std::span<const Seconds> times, std::span<float> pattern);
/// The pattern of the differences times - less.
void pattern_of(std::span<const Seconds> times, std::span<const Seconds> less,
                std::span<float> pattern);

template <typename Number>
struct Extremes {
  Number min;
  Number max;

  [[nodiscard]] Number range() const { return max - min; }
};

/// The nearest integer of a number that is not negative; std::lround is a call for each number.
[[nodiscard]] inline int nearest(float number) {
  constexpr float kHalf = 0.5F;
  return static_cast<int>(number + kHalf);
}

/// The extremes of `count` values, in lanes that a compiler turns into vector registers.
template <typename Value>
[[nodiscard]] auto extremes(std::size_t count, const Value& value) {
  using Number = decltype(value(std::size_t{0}));
  constexpr std::size_t kLanes = 8;
  std::array<Number, kLanes> min{};
  min.fill(value(0));
  std::array<Number, kLanes> max = min;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Number one = value(i + lane);
      min[lane] = one < min[lane] ? one : min[lane];
      max[lane] = one > max[lane] ? one : max[lane];
    }
  }
  for (; i < count; ++i) {
    min[0] = std::min(min[0], value(i));
    max[0] = std::max(max[0], value(i));
  }
  return Extremes<Number>{*std::min_element(min.begin(), min.end()),
                          *std::max_element(max.begin(), max.end())};
}

template <typename Times>
[[nodiscard]] auto extremes_of(const Times& times) {
  return extremes(times.size(), [data = times.data()](std::size_t i) { return data[i]; });
}

/// Last minus first.
template <typename Times>
[[nodiscard]] auto imbalance(const Times& times) {
  return extremes_of(times).range();
}

/// The imbalance of predicted minus actual times. Ranks predicted to be farther apart than this
/// arrive in the predicted order. An offset common to all ranks does not change it.
template <typename Times>
[[nodiscard]] auto misplacement(const Times& predicted, const Times& actual) {
  const auto error = [one = predicted.data(), other = actual.data()](std::size_t i) {
    return one[i] - other[i];
  };
  return extremes(predicted.size(), error).range();
}

}  // namespace latecomer
