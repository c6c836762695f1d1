// Splitting a vector into parts as equal as they can be, the longer ones first.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/network.hpp"
#include "base/types.hpp"

namespace latecomer {

/// `count` elements in `parts` parts; parts may be empty.
class Partition {
 public:
  Partition(Count count, Count parts) : size_(count / parts), longer_(count % parts) {}

  [[nodiscard]] Count begin(Count part) const { return part * size_ + std::min(part, longer_); }
  [[nodiscard]] Range range(Count part) const { return range(part, part + 1); }
  /// The parts [first, last) together.
  [[nodiscard]] Range range(Count first, Count last) const {
    return {begin(first), begin(last) - begin(first)};
  }
  [[nodiscard]] Count longest() const { return size_ + (longer_ > 0 ? 1 : 0); }

 private:
  Count size_;
  Count longer_;
};

/// The fewest parts of `bytes` that are each sent without asking the receiver: at most half the
/// eager limit, since the libraries count their headers too. 1 where nothing is sent so.
[[nodiscard]] inline Count eager_parts(Count bytes, const Network& network) {
  const Count most = network.eager_limit / 2;
  return most == 0 ? 1 : std::max<Count>(1, (bytes + most - 1) / most);
}

/// More segments would make programs longer without making pipelines shorter.
inline constexpr Count kMostSegments = 65536;

/// The segments that minimise (segments + hops - 1) * (alpha + beta * bytes / segments), the time
/// of a pipeline, but small enough to be sent eagerly where a handshake costs anything. At least 1,
/// at most one an element and kMostSegments.
[[nodiscard]] inline Count pipeline_segments(Count bytes, Count elements, Count hops,
                                             const Network& network) {
  const double transfer = network.beta * static_cast<double>(bytes);
  const double start = std::max(network.alpha, 1e-9);
  const double best =
      std::sqrt(static_cast<double>(std::max<Count>(0, hops - 1)) * transfer / start);
  const Count least = network.handshake > 0 ? eager_parts(bytes, network) : 1;
  const Count wanted = std::max<Count>(std::llround(best), least);
  return std::min({wanted, std::max<Count>(1, elements), kMostSegments});
}

}  // namespace latecomer
