// Splitting a vector into parts as equal as they can be, the longer ones first.
#pragma once

#include <algorithm>

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
  /// The part that holds an element.
  [[nodiscard]] Count part_of(Count element) const {
    const Count in_longer = longer_ * (size_ + 1);
    if (element < in_longer) return element / (size_ + 1);
    return longer_ + (element - in_longer) / size_;
  }
  [[nodiscard]] Count longest() const { return size_ + (longer_ > 0 ? 1 : 0); }

 private:
  Count size_;
  Count longer_;
};

/// The fewest parts of `bytes` that are each sent eagerly: at most half the eager limit, since the
/// libraries count their headers too. 1 if no message is eager.
[[nodiscard]] inline Count eager_parts(Count bytes, const Network& network) {
  const Count max = network.eager_limit / 2;
  return max == 0 ? 1 : std::max<Count>(1, (bytes + max - 1) / max);
}

}  // namespace latecomer
