// Sums over calls whose arrivals are known of who waits for whom (lateness/calls.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// Sums over calls of the same ranks, by their place.
struct Waits {
  explicit Waits(std::size_t ranks = 0)
      : waiting(ranks), moving(ranks), cost(ranks), lateness(ranks), last(ranks) {}

  /// Adds a call of at least one rank. Times are those of one clock. `by_all`: nobody can leave the
  /// call before all have entered it, whatever clocks say that are not exact.
  void add(std::span<const Seconds> arrivals, std::span<const Seconds> exits, bool by_all = false);
  /// Takes away what was added as `other`.
  void remove(const Waits& other);
  [[nodiscard]] Seconds all_waiting() const;

  std::uint64_t calls = 0;
  std::vector<Seconds> waiting;
  std::vector<Seconds> moving;
  std::vector<Seconds> cost;      // that the others waited for it
  std::vector<Seconds> lateness;  // after the median arrival, or the other of two; negative: before
  std::vector<double> last;       // calls in which it alone came last
};

}  // namespace latecomer
