// The ways in which a choice tries a row.
#pragma once

#include <vector>

#include "algorithms/registry.hpp"

namespace latecomer {

/// The parameters with which a choice tries the row. Rows are tried once, as they are by default;
/// if arrivals are known, rows that lift also with each arrival-aware algorithm among them that may
/// be worth planning for so many places.
[[nodiscard]] std::vector<Parameters> ways(const Algorithm& row, const Problem& problem,
                                           const Network& network, const Placement& placement,
                                           bool arrivals_known);

}  // namespace latecomer
