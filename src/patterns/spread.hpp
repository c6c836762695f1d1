// Splitting a vector into parts so that longer and shorter ones alternate.
#pragma once

#include "base/types.hpp"

namespace latecomer {

/// `count` elements in `parts` parts. Runs of as many neighbours, the last part next to the first,
/// differ by at most one element, however many they are: no run is longer than it must be.
class Spread {
 public:
  Spread(Count count, Count parts) : parts_(parts), size_(count / parts), longer_(count % parts) {}

  [[nodiscard]] Count begin(Count part) const { return part * size_ + part * longer_ / parts_; }
  [[nodiscard]] Range range(Count part) const {
    return {begin(part), begin(part + 1) - begin(part)};
  }
  /// The elements of the longest run of `run` neighbours.
  [[nodiscard]] Count longest(Count run) const {
    return run * size_ + (run * longer_ + parts_ - 1) / parts_;
  }

 private:
  Count parts_;
  Count size_;
  Count longer_;
};

}  // namespace latecomer
