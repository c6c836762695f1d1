// Powers of two: the usual way to run an algorithm for one on any number of ranks, and recursive
// halving.
#pragma once

#include "base/partition.hpp"
#include "base/types.hpp"

namespace latecomer {

// Powers of two, and the usual way to run an algorithm for a power of two on any number of ranks.

[[nodiscard]] constexpr Rank floor_log2(Rank value) {
  Rank log = 0;
  while ((value >>= 1) > 0) ++log;
  return log;
}

[[nodiscard]] constexpr Rank ceil_log2(Rank value) {
  return value == 1 ? 0 : floor_log2(value - 1) + 1;
}

/// A group of ranks of which 2^log2, the `core`, run an algorithm for a power of two. The first 2 *
/// extra ranks pair up: each even one is folded, it sends its data to the odd one above it, its
/// proxy. The proxies and all later ranks are the core, in rank order. A core rank thus represents
/// a contiguous run of ranks, and operand order is kept.
struct PowerOfTwoGroup {
  explicit constexpr PowerOfTwoGroup(Rank ranks)
      : log2(floor_log2(ranks)), core(Rank{1} << log2), extra(ranks - core) {}

  [[nodiscard]] constexpr bool is_folded(Rank rank) const {
    return rank < 2 * extra && rank % 2 == 0;
  }
  [[nodiscard]] constexpr bool is_proxy(Rank rank) const {
    return rank < 2 * extra && rank % 2 == 1;
  }
  [[nodiscard]] constexpr Rank position(Rank rank) const {
    return rank < 2 * extra ? rank / 2 : rank - extra;
  }
  [[nodiscard]] constexpr Rank rank(Rank position) const {
    return position < extra ? 2 * position + 1 : position + extra;
  }

  Rank log2;
  Rank core;
  Rank extra;
};

// Recursive halving: of the blocks of a vector each rank works on half as many after each exchange.

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
