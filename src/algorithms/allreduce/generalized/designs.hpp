// Designs: the cost of their steps, and the group, the number of steps and the length of messages
// that cost least.
#pragma once

#include <optional>

#include "algorithms/allreduce/generalized/levels.hpp"
#include "algorithms/registry.hpp"

namespace latecomer::allreduce {

// The cost of a design's steps.

/// The work of the busiest rank in one step.
struct Work {
  Count sent = 0;         // elements, in one message unless there are pieces
  Count urgent = 0;       // elements combined before the next step can begin
  Count combined = 0;     // elements combined in all
  bool exchange = false;  // sent to and received from the same rank
};
/// The work of a design's steps in order, for a vector of `count` elements.
[[nodiscard]] std::vector<Work> work_of(const Design& design, Count count);

[[nodiscard]] Count steps_of(const Design& design);
/// Most elements of a message in each phase; 0: no limit.
struct Pieces {
  Count reduce = 0;
  Count distribute = 0;
};
/// The time when all ranks arrive together, seconds.
[[nodiscard]] Seconds time_of(const std::vector<Work>& steps, const Pieces& pieces,
                              const Problem& problem, const Network& network);

/// The cost of the design in a plan's table.
[[nodiscard]] Cost level_cost(const Plan& plan);

// Chooses the group, the number of steps and the length of messages that cost least.

/// The factors of a group, in the order in which levels reduce.
using Factors = std::vector<Count>;

struct Wishes {
  std::vector<Factors> groups;  // to choose from
  std::optional<Count> steps;   // in all; the nearest possible number is taken
  std::optional<Count> piece;   // most elements of a message; 0: no limit
  bool any_rounding = false;    // ranks may combine in different trees
};

/// The groups that are worth trying: the cyclic one, then those with more and more prime factors
/// split off, the smallest last.
[[nodiscard]] std::vector<Factors> useful_groups(Rank ranks);
/// The prime factors, largest first.
[[nodiscard]] Factors prime_factors(Rank ranks);

[[nodiscard]] Design cheapest(const Wishes& wishes, const Problem& problem, const Network& network);

}  // namespace latecomer::allreduce
