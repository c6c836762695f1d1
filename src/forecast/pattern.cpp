#include "forecast/pattern.hpp"

#include <cmath>

namespace latecomer {
namespace {

constexpr float kSteps = 32;

/// The least power of two that is not below `value`; 0 for 0.
float power_of_two(float value) {
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return fraction == 0 ? 0 : std::ldexp(1.0F, fraction == 0.5F ? exponent - 1 : exponent);
}

}  // namespace

void ArrivalGrid::snap(PatternView arrivals, Seconds min_step, Seconds mean_error,
                       std::vector<Seconds>& snapped) {
  const auto difference = [&](std::size_t rank) {
    return arrivals[rank] - step_ * static_cast<float>(steps_[rank]);
  };
  const Seconds allowed = 2 * step_ + mean_error;
  if (steps_.size() != arrivals.size() || extremes(arrivals.size(), difference).range() > allowed) {
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

}  // namespace latecomer
