// Plans of the rows `nodes`: which of them use the memory of nodes, who drives a node, and the
// plans among the nodes. Where the memory is not used, a plan is that of a row among all ranks.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "algorithms/row.hpp"
#include "schedule/placement.hpp"

namespace latecomer {

/// The way in which a row lifts the algorithms of its collective.
struct Lifting {
  /// Whether the memory of nodes is used for the problem.
  bool (*usable)(const Problem& problem, const Placement& placement) = nullptr;
  /// The problems of the programs among the nodes, each of them once.
  std::vector<Problem> (*among)(const Plan& plan, const Nodes& nodes) = nullptr;
  // The row among nodes that arrive apart: the first one that is worth its planning.
  std::array<std::string_view, 2> aware;
  /// Whether a driver's receives must not lie in the buffer while mates use it.
  bool receives_apart = false;
  /// Whether its messages and flags tell all ranks of each other.
  bool tells = false;
};

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

void fill_lifted(Plan& plan, const Knowledge& knowledge, const Lifting& lifting);
void check_lifted(const Plan& plan, const Lifting& lifting);
[[nodiscard]] bool lifted_informs_all(const Plan& plan, const Lifting& lifting);
/// The program of a plan among all ranks.
void build_among_all(const Plan& plan, Builder& builder);
/// The plan's only inner plan is what its ranks do, and no nodes are used.
[[nodiscard]] inline bool among_all(const Plan& plan) { return plan.placement.empty(); }

// The members of a row.
// NOLINTBEGIN(readability-redundant-parentheses): there are none
template <const Lifting& lifting>
void check_plan_of(const Plan& plan) {
  check_lifted(plan, lifting);
}
template <const Lifting& lifting>
bool informs_all_of(const Plan& plan) {
  return lifted_informs_all(plan, lifting);
}
// NOLINTEND(readability-redundant-parentheses)
template <void (*on_nodes)(const Plan& plan, Builder& builder)>
void build_lifted(const Plan& plan, Builder& builder) {
  among_all(plan) ? build_among_all(plan, builder) : on_nodes(plan, builder);
}

}  // namespace latecomer
