// Expected arrivals on a fixed grid, so that estimates that hardly differ give the same plan.
#pragma once

#include <cstdint>
#include <vector>

#include "forecast/pattern.hpp"

namespace latecomer {

/// Remembers its last arrivals, and returns them again as long as they fit.
class ArrivalGrid {
 public:
  /// Rounds arrivals, in seconds after the earliest, to multiples of a step: the least power of two
  /// of seconds that is at least 1/32 of their imbalance and at least `min_step`. The last arrivals
  /// stay, however, if the new ones differ from them by at most two steps plus `mean_error`, the
  /// usual misplacement, apart from what is common to all ranks. `snapped` gets them; empty: all
  /// arrive together. It is the caller's, so that a call in a row allocates nothing.
  void snap(PatternView arrivals, Seconds min_step, Seconds mean_error,
            std::vector<Seconds>& snapped);

 private:
  std::vector<std::uint8_t> steps_;  // after the earliest rank
  float step_ = 0;
};

}  // namespace latecomer
