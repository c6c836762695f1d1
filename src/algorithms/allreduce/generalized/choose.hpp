// Which group, how many steps and how long messages: the cheapest by the cost of the steps.
#pragma once

#include <optional>

#include "algorithms/allreduce/generalized/levels.hpp"

namespace latecomer::allreduce {

/// The factors of a group, in the order in which levels reduce.
using Factors = std::vector<Count>;

struct Wishes {
  std::vector<Factors> groups;  // to choose from
  std::optional<Count> steps;   // in all; the nearest possible is taken
  std::optional<Count> piece;   // most elements of a message; 0: no limit
  bool any_rounding = false;    // ranks may combine in different trees
};

/// The groups that are worth trying: cyclic, and with ever more of the prime factors split off, the
/// smallest last.
[[nodiscard]] std::vector<Factors> useful_groups(Rank ranks);
/// Prime factors, largest first.
[[nodiscard]] Factors prime_factors(Rank ranks);

[[nodiscard]] Design cheapest(const Wishes& wishes, const Problem& problem, const Network& network);

}  // namespace latecomer::allreduce
