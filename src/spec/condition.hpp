// The task of each collective: the elements that each rank holds before and after it.
#pragma once

#include <optional>
#include <vector>

#include "schedule/program.hpp"

namespace latecomer {

/// A slice that holds the elements from `first_element` on: those of one rank, or (no
/// contributor) those of all ranks combined.
struct Holding {
  Slice slice;
  Count first_element = 0;
  std::optional<Rank> contributor;
};

[[nodiscard]] std::vector<Holding> precondition(const Problem& problem, Rank rank);
[[nodiscard]] std::vector<Holding> postcondition(const Problem& problem, Rank rank);

}  // namespace latecomer
