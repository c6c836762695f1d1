// How many segments a pipeline is best cut into.
#pragma once

#include <algorithm>

#include "patterns/partition.hpp"

namespace latecomer {

/// The fewest segments for which `time(segments)` is shortest: at least 1, at most one an element
/// and kMostSegments, to within an eighth. Tried out one by one, since a closed form knows neither
/// the longest segment nor the handshake of those above the eager limit.
template <typename Time>
[[nodiscard]] Count best_segments(Count elements, const Time& time) {
  const Count most = std::min(std::max<Count>(1, elements), kMostSegments);
  Count best = 1;
  Seconds shortest = time(best);
  for (Count segments = 2; segments <= most; segments += std::max<Count>(1, segments / 8)) {
    const Seconds taken = time(segments);
    if (taken >= shortest) continue;
    best = segments;
    shortest = taken;
  }
  return best;
}

}  // namespace latecomer
