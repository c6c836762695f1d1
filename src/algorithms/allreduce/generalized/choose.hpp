// Chooses the group, the number of steps and the length of messages that cost least.
#pragma once

#include <optional>

#include "algorithms/allreduce/generalized/levels.hpp"

namespace latecomer::allreduce {

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
