// The lanes of nodes: parts of a vector, each with a driver of its own on a
// node; and whether nodes come apart, which needs none.
#pragma once

#include "algorithms/row.hpp"

namespace latecomer {

/// The drivers of a node: each carries out the program among the nodes for a part of the vector.
[[nodiscard]] Count lanes_of(const Plan& plan);
[[nodiscard]] Parameter lanes_parameter();
/// Whether the expected arrivals differ by more than a quarter of a transfer of the vector.
[[nodiscard]] bool apart(const Problem& problem, const Knowledge& knowledge);

}  // namespace latecomer
