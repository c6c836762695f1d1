// The plan of an all-reduce over a product of cyclic groups: one level for each cyclic factor.
//
// A level splits the vector it is given into `order` parts. Its ranks differ in one digit x of
// their number and number the parts relative to it: k stands for part x + k. A step of the
// reduction moves the partial results [N', N) of all ranks by the same distance h onto k - h; after
// the last step a rank has complete results for k in [0, kept). The next level reduces these
// further, and the distribution brings back the missing results by the same steps in reverse.
#pragma once

#include <vector>

#include "schedule/plan.hpp"

namespace latecomer::allreduce {

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

}  // namespace latecomer::allreduce
