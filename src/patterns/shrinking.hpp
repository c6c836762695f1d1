// Shrinking a set of partial results step by step: each step moves some of them onto others, so at
// most half of them go at once.
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// The fewest steps from `from` partial results to `to`.
[[nodiscard]] constexpr Count fewest_steps(Count from, Count to) {
  Count steps = 0;
  for (; from > to; from = std::max(to, (from + 1) / 2)) ++steps;
  return steps;
}

namespace detail {

/// The number of partial results after a step that moves at most `max` and leaves `after` later
/// steps.
constexpr Count next_size(Count size, Count to, Count max, Count after) {
  return std::max({(size + 1) / 2, size - max, to + after});
}

constexpr Count steps_with(Count from, Count to, Count max) {
  Count steps = 0;
  for (; from > to; from = next_size(from, to, max, 0)) ++steps;
  return steps;
}

/// The smallest limit of a step with which `steps` steps suffice.
constexpr Count min_limit(Count from, Count to, Count steps) {
  Count too_few = 0;
  Count enough = from;
  while (enough - too_few > 1) {
    const Count middle = (too_few + enough) / 2;
    (steps_with(from, to, middle) <= steps ? enough : too_few) = middle;
  }
  return enough;
}

}  // namespace detail

/// The sizes from `from` down to `to`, both included, in exactly `steps` steps: halves where that
/// is the fewest there can be, otherwise the largest step as small as possible. `steps` lies
/// between fewest_steps(from, to) and from - to.
[[nodiscard]] inline std::vector<Count> shrinking(Count from, Count to, Count steps) {
  const bool halve = steps == fewest_steps(from, to);
  const Count max = halve ? from : detail::min_limit(from, to, steps);
  std::vector<Count> sizes = {from};
  for (Count left = steps; left > 0; --left) {
    sizes.push_back(detail::next_size(sizes.back(), to, max, halve ? 0 : left - 1));
  }
  return sizes;
}

}  // namespace latecomer
