// The best number of segments of a pipeline.
#pragma once

#include <algorithm>

#include "base/types.hpp"

namespace latecomer {

/// More segments would make programs longer without making pipelines shorter.
inline constexpr Count kMaxSegments = 65536;

/// The largest number of segments: at most one an element, at least 1.
[[nodiscard]] inline Count max_segments(Count elements) {
  return std::min(std::max<Count>(1, elements), kMaxSegments);
}

/// The fewest segments for which `time(segments)` is shortest, to within an eighth, and at most
/// max_segments(elements). Tried out one by one, since a closed form knows neither
/// the longest segment nor the handshake of those above the eager limit.
template <typename Time>
[[nodiscard]] Count best_segments(Count elements, const Time& time) {
  const Count max = max_segments(elements);
  Count best = 1;
  Seconds shortest = time(best);
  for (Count segments = 2; segments <= max; segments += std::max<Count>(1, segments / 8)) {
    const Seconds taken = time(segments);
    if (taken >= shortest) continue;
    best = segments;
    shortest = taken;
  }
  return best;
}

}  // namespace latecomer
