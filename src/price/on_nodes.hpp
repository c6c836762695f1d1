// The choice where ranks share nodes. The costs of other rows count one message of a rank on its
// link, so there rows that lift compete alone. The program among them takes every problem, if need
// be by an algorithm among all ranks.
#pragma once

#include <vector>

#include "algorithms/registry.hpp"

namespace latecomer {

/// The problem among the nodes.
[[nodiscard]] Problem problem_of_nodes(Problem problem, const Placement& placement);

/// True if ranks share nodes and the collective has a row for that.
[[nodiscard]] bool by_nodes(Collective collective, const Placement& placement);

/// True if a choice may consider the row for ranks with this placement. Where each rank has a node
/// of its own that is every row but those that lift, which then stand for others.
[[nodiscard]] bool competes_on(const Algorithm& row, const Placement& placement);

/// The parameter that makes `nodes` run the same program among the nodes as this plan of it; none
/// for plans of other rows.
[[nodiscard]] Parameters same_among(const Plan& plan);

/// Operations of one rank of a plan on the memory of its node, about; 0 for other plans.
[[nodiscard]] Count operations_on_node(const Plan& plan);

/// The seconds of a plan that uses the memory of nodes, if `among` is the time of its algorithm
/// among the nodes. The work within nodes overlaps with that, but for the first piece. Never less
/// for a longer vector.
[[nodiscard]] Seconds with_local_work(const Plan& plan, Seconds among, const Network& network);

}  // namespace latecomer
