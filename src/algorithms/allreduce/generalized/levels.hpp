// The levels of an all-reduce over a product of cyclic groups: how each shrinks its set of partial
// results, and the operations that follow.
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.hpp"
#include "schedule/builder.hpp"
#include "schedule/plan.hpp"

namespace latecomer {

// Shrinking a set of partial results step by step: each step moves some of them onto others, so at
// most half of them go at once.

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

// Splitting a vector into parts so that longer and shorter ones alternate.

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

namespace latecomer::allreduce {

// The plan of an all-reduce over a product of cyclic groups: one level for each cyclic factor.
//
// A level splits the vector it is given into `order` parts. Its ranks differ in one digit x of
// their number and number the parts relative to it: k stands for part x + k. A step of the
// reduction moves the partial results [N', N) of all ranks by the same distance h onto k - h; after
// the last step a rank has complete results for k in [0, kept). The next level reduces these
// further, and the distribution brings back the missing results by the same steps in reverse.

/// The distance by which a step moves partial results: as short as possible (Kolmakov and Zhang),
/// or as long as possible (Traeff).
enum class Distance : std::uint8_t { near, far };

struct Level {
  Count order = 1;   // ranks, and parts
  Count kept = 1;    // results of the reduction on each rank; more than 1: replicated work
  Count reduce = 0;  // steps of each phase
  Count distribute = 0;
  bool operator==(const Level&) const = default;
};

struct Design {
  std::vector<Level> levels;
  Distance distance = Distance::near;
  Count reduce_piece = 0;  // most elements of a message; 0: no limit
  Count distribute_piece = 0;
};

/// A step from `size` parts down to `smaller`, or back.
struct Step {
  Count size = 0;
  Count smaller = 0;

  [[nodiscard]] Count moved() const { return size - smaller; }
  [[nodiscard]] Count shift(Distance distance) const {
    return distance == Distance::near ? moved() : smaller;
  }
};
/// The steps of the reduction in order: the first reduces `order` parts, the last leaves 1.
[[nodiscard]] std::vector<Step> reduce_steps(const Level& level);
/// The steps of the distribution in order: the first starts from `kept` parts, the last ends with
/// `order`.
[[nodiscard]] std::vector<Step> distribute_steps(const Level& level);

/// True if all ranks combine in the same tree and in the same slices: where results are kept more
/// than once, the order must halve alike from everywhere, and all ranks must keep all parts.
[[nodiscard]] bool one_tree(const Level& level);

[[nodiscard]] std::vector<Count> to_table(const Design& design);
/// The design in a table. Throws Error if the table holds no design for `ranks`.
[[nodiscard]] Design from_table(const std::vector<Count>& table, Rank ranks);
/// Throws Error if the plan's table holds no design for its ranks, or the plan has an order.
void check_levels(const Plan& plan);

/// The least number of elements of a message where messages are limited: programs stay short.
[[nodiscard]] Count least_piece(const Problem& problem);

// Writes one rank's operations in all levels of the design in the plan's table.

void build_levels(const Plan& plan, Builder& builder);

/// True if its messages tell all ranks of each other's arrivals: a field of registry rows.
[[nodiscard]] bool levels_inform(const Plan& plan);

}  // namespace latecomer::allreduce
