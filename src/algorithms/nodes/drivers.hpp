// The drivers of nodes: which ranks they are, and when a node is there.
#pragma once

#include <vector>

#include "schedule/placement.hpp"
#include "schedule/plan.hpp"

namespace latecomer {

/// The ranks of each node that are expected first; of equal ones the root, otherwise the lowest. A
/// rank that comes later than the first one by more than `patience` drives no lane.
[[nodiscard]] std::vector<Count> choose_drivers(const Problem& problem, const Nodes& nodes,
                                                Count lanes, const std::vector<Seconds>& arrivals,
                                                Seconds patience);
/// Throws Error unless the plan's table has a driver for each lane of each node.
void check_drivers(const Plan& plan, const Nodes& nodes);

/// The arrivals of nodes. A node contributes when its last rank is there; one that only receives,
/// or has the root as its driver, begins with its driver.
[[nodiscard]] std::vector<Seconds> arrivals_of_nodes(const Plan& plan, const Nodes& nodes,
                                                     const std::vector<Seconds>& arrivals);

}  // namespace latecomer
