// Recursive halving: of the blocks of a vector each rank works on half as many after each exchange.
#pragma once

#include "base/partition.hpp"

namespace latecomer {

/// The blocks [first, last) that a rank still works on.
struct Blocks {
  Rank first;
  Rank last;

  [[nodiscard]] Blocks half(bool upper) const {
    const Rank middle = (first + last) / 2;
    return upper ? Blocks{middle, last} : Blocks{first, middle};
  }
  /// The range of the vector that these blocks cover.
  [[nodiscard]] Range in(const Partition& parts) const { return parts.range(first, last); }
};

}  // namespace latecomer
