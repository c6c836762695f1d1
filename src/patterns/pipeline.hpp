// The pipelining lemma: how many segments a pipeline is best cut into.
#pragma once

#include <algorithm>
#include <cmath>

#include "patterns/partition.hpp"

namespace latecomer {

/// A pipeline of S segments that takes (fill + step S) rounds of one segment each and, on the way
/// of the first segment, `combines` combines that no transfer hides.
struct Pipeline {
  double fill = 0;
  double step = 1;
  double combines = 0;

  /// The S that minimises (fill + step S)(alpha + beta m / S) + combines gamma m / S. At least 1,
  /// at most one an element and kMostSegments; rounded down, since segments one after the other
  /// cost more than the first ones' closed form says.
  [[nodiscard]] Count segments(Count bytes, Count elements, const Network& network) const {
    const double shrinking = std::max(0.0, fill) * network.beta + combines * network.gamma;
    const double growing = step * std::max(network.alpha, 1e-9);
    const double best = std::sqrt(shrinking * static_cast<double>(bytes) / growing);
    const double most = static_cast<double>(std::min(std::max<Count>(1, elements), kMostSegments));
    return static_cast<Count>(std::clamp(best, 1.0, most));
  }
};

}  // namespace latecomer
