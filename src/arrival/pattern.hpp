// Patterns: where each rank stands in time among the others. What all ranks have in common is no
// part of a pattern, because it changes nothing about who waits for whom.
#pragma once

#include <span>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// The lower median, seconds; reorders `values`, which must not be empty.
[[nodiscard]] Seconds lower_median(std::vector<Seconds>& values);

/// The times less their median: of these three it alone stays where it is when one rank is late
/// (the mean moves) or early (the minimum moves), so that the others do not seem to move.
[[nodiscard]] std::vector<Seconds> pattern_of(std::vector<Seconds> times);

/// Last minus first, seconds.
[[nodiscard]] Seconds imbalance(std::span<const Seconds> times);

/// The imbalance of predicted minus actual, seconds. Ranks that are predicted to be farther apart
/// than this come in the predicted order. An offset common to all ranks does not change it.
[[nodiscard]] Seconds misplacement(std::span<const Seconds> predicted,
                                   std::span<const Seconds> actual);

/// Mean over the ranks of |predicted - actual|, seconds, the common offset being taken off.
[[nodiscard]] Seconds mean_absolute_error(std::span<const Seconds> predicted,
                                          std::span<const Seconds> actual);

}  // namespace latecomer
