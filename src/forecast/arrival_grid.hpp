// Expected arrivals on a fixed grid, so that estimates that hardly differ give the same plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// Remembers its last arrivals, and returns them again as long as they fit.
class ArrivalGrid {
 public:
  /// Takes new arrivals, in seconds after the earliest, and rounds them to multiples of a step: the
  /// least power of two of seconds that is at least 1/32 of their imbalance and at least
  /// `min_step`. The last arrivals stay, however, if the new ones differ from them by at most two
  /// steps plus `mean_error`, the usual misplacement, apart from what is common to all ranks.
  void snap(std::span<const float> arrivals, Seconds min_step, Seconds mean_error = 0);
  /// The arrivals on the grid; empty: all ranks arrive together.
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
