#include "forecast/arrival_grid.hpp"

#include <algorithm>
#include <cmath>

#include "forecast/pattern.hpp"

namespace latecomer {
namespace {

constexpr float kSteps = 32;

/// The least power of two that is not below `value`; 0 for 0.
float power_of_two(float value) {
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  if (fraction == 0) return 0;
  return std::ldexp(1.0F, fraction == 0.5F ? exponent - 1 : exponent);
}

}  // namespace

void ArrivalGrid::snap(std::span<const float> arrivals, Seconds min_step, Seconds mean_error) {
  if (!fits(arrivals, mean_error)) round(arrivals, min_step);
}

void ArrivalGrid::last(std::vector<Seconds>& arrivals) const {
  arrivals.resize(together_ ? 0 : steps_.size());
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    arrivals[rank] = static_cast<Seconds>(step_) * steps_[rank];
  }
}

bool ArrivalGrid::fits(std::span<const float> arrivals, Seconds mean_error) const {
  if (steps_.size() != arrivals.size()) return false;
  const auto difference = [&](std::size_t rank) {
    return arrivals[rank] - step_ * static_cast<float>(steps_[rank]);
  };
  const Seconds allowed = 2 * step_ + mean_error;
  return extremes(arrivals.size(), difference).range() <= allowed;
}

void ArrivalGrid::round(std::span<const float> arrivals, Seconds min_step) {
  const auto range = extremes_of(arrivals);
  const auto min = static_cast<float>(min_step);
  step_ = std::max(power_of_two(range.range() / kSteps), power_of_two(min));
  steps_.assign(arrivals.size(), 0);
  together_ = range.range() < step_ / 2 || step_ == 0;
  if (together_) return;
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    steps_[rank] = static_cast<std::uint8_t>(nearest((arrivals[rank] - range.min) / step_));
  }
}

}  // namespace latecomer
