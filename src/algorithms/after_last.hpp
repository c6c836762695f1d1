// What rows with a closed form for given arrivals tell of them (`time_after_last`).
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// The mean exit minus the last arrival, seconds; one entry a rank, in any order.
[[nodiscard]] inline Seconds mean_exit_after_last(const std::vector<Seconds>& exits,
                                                  const std::vector<Seconds>& arrivals) {
  const Seconds sum = std::accumulate(exits.begin(), exits.end(), Seconds{0});
  return sum / static_cast<Seconds>(exits.size()) - std::ranges::max(arrivals);
}

}  // namespace latecomer
