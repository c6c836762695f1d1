// Expected arrivals on a fixed grid, so that estimates that hardly differ give the same plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// Remembers what it said last, and says it again as long as it fits.
class ArrivalGrid {
 public:
  /// New arrivals, seconds after the earliest one. They are rounded to multiples of a step, the
  /// least power of two of seconds from 1/32 of their imbalance and from `min_step` up. But the
  /// last ones stay if the new ones differ from them by one step of these at most, what is common
  /// to all ranks left out, and so do estimates that are usually off by more: `mean_error` is the
  /// misplacement allowed beside the step.
  void snap(std::span<const float> arrivals, Seconds min_step, Seconds mean_error = 0);
  /// The arrivals on the grid; empty: all are together.
  void last(std::vector<Seconds>& arrivals) const;

  [[nodiscard]] static std::size_t memory(Rank ranks) {
    return static_cast<std::size_t>(ranks) * sizeof(std::uint8_t);
  }

 private:
  [[nodiscard]] bool fits(std::span<const float> arrivals, Seconds mean_error) const;
  void round(std::span<const float> arrivals, Seconds min_step);

  std::vector<std::uint8_t> steps_;  // after the earliest rank
  float step_ = 0;
  bool together_ = true;
};

}  // namespace latecomer
