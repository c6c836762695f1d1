// Patterns: the ranks' times relative to each other, in seconds. A time common to all ranks is no
// part of a pattern, because it does not change which ranks wait. So single precision is enough.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

using PatternView = std::span<const float>;

template <typename Number>
struct Extremes {
  Number min;
  Number max;
  [[nodiscard]] Number range() const { return max - min; }
};

/// The extremes of `count` values, in 32 bytes of lanes that a compiler turns into vector
/// registers.
template <typename Value>
[[nodiscard]] auto extremes(std::size_t count, const Value& value) {
  using Number = decltype(value(std::size_t{0}));
  constexpr std::size_t kLanes = 32 / sizeof(Number);
  std::array<Number, kLanes> min{};
  min.fill(value(0));
  std::array<Number, kLanes> max = min;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma GCC unroll 1  // it makes vectors of loops, not of what it has unrolled
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      min[lane] = std::min(value(i + lane), min[lane]);
      max[lane] = std::max(value(i + lane), max[lane]);
    }
  }
  for (; i < count; ++i) {
    min[0] = std::min(min[0], value(i));
    max[0] = std::max(max[0], value(i));
  }
  return Extremes<Number>{std::ranges::min(min), std::ranges::max(max)};
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
template <typename Predicted, typename Actual>
[[nodiscard]] auto misplacement(const Predicted& predicted, const Actual& actual) {
  const auto error = [one = predicted.data(), other = actual.data()](std::size_t i) {
    return one[i] - other[i];
  };
  return extremes(predicted.size(), error).range();
}

// Expected arrivals on a fixed grid, so that estimates that hardly differ give the same plan.

/// Remembers its last arrivals, and returns them again as long as they fit.
class ArrivalGrid {
 public:
  /// Rounds arrivals, in seconds after the earliest, to multiples of a step: the least power of two
  /// of seconds that is at least 1/32 of their imbalance and at least `min_step`. The last arrivals
  /// stay, however, if the new ones differ from them by at most two steps plus `mean_error`, the
  /// usual misplacement, apart from what is common to all ranks. `snapped` gets them; empty: all
  /// arrive together. It is the caller's, so that a call in a row allocates nothing.
  void snap(PatternView arrivals, Seconds min_step, Seconds mean_error,
            std::vector<Seconds>& snapped) {
    const auto difference = [&](std::size_t rank) {
      return arrivals[rank] - step_ * static_cast<float>(steps_[rank]);
    };
    const Seconds allowed = 2 * step_ + mean_error;
    if (steps_.size() != arrivals.size() ||
        extremes(arrivals.size(), difference).range() > allowed) {
      const auto [first, last] = extremes_of(arrivals);
      step_ = power_of_two(std::max((last - first) / kSteps, static_cast<float>(min_step)));
      const auto rounded = [this, min = first](float arrival) {
        return static_cast<std::uint8_t>(step_ > 0 ? (arrival - min) / step_ + 0.5F : 0);
      };
      steps_.resize(arrivals.size());
      std::ranges::transform(arrivals, steps_.begin(), rounded);
    }
    snapped.resize(std::ranges::max(steps_) > 0 ? steps_.size() : 0);
    for (std::size_t rank = 0; rank < snapped.size(); ++rank) {
      snapped[rank] = static_cast<Seconds>(step_) * steps_[rank];
    }
  }

 private:
  static constexpr float kSteps = 32;

  /// The least power of two that is not below `value`; 0 for 0.
  [[nodiscard]] static float power_of_two(float value) {
    int exponent = 0;
    const float fraction = std::frexp(value, &exponent);
    return fraction == 0 ? 0 : std::ldexp(1.0F, fraction == 0.5F ? exponent - 1 : exponent);
  }

  std::vector<std::uint8_t> steps_;  // after the earliest rank
  float step_ = 0;
};

}  // namespace latecomer
