// What plans on nodes hold beside those among the nodes: who drives a node, and when it is there.
#pragma once

#include <vector>

#include "schedule/placement.hpp"
#include "schedule/plan.hpp"

namespace latecomer {

/// The problem among the nodes for `count` elements of the vector.
[[nodiscard]] Problem problem_among(const Problem& problem, const Nodes& nodes, Count count);

/// Of each node the ranks that are expected first; of equal ones the root, otherwise the lowest. A
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

/// The plan's only inner plan is what its ranks do, and no nodes are used.
[[nodiscard]] inline bool among_all(const Plan& plan) { return plan.placement.empty(); }

}  // namespace latecomer
