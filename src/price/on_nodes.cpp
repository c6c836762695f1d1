#include "price/on_nodes.hpp"

#include <algorithm>

#include "algorithms/nodes/cut.hpp"

namespace latecomer {
Problem problem_of_nodes(Problem problem, const Placement& placement) {
  if (placement.empty()) return problem;
  const Nodes nodes(placement, problem.ranks);
  if (rooted(problem.collective)) problem.root = nodes.node(problem.root);
  problem.ranks = nodes.count();
  problem.parts.clear();
  return problem;
}

bool by_nodes(Collective collective, const Placement& placement) {
  const auto lifts = [](const Algorithm& row) { return row.lifts && row.kind == Kind::program; };
  return shares_nodes(placement) && std::ranges::any_of(registry(collective), lifts);
}

bool competes_on(const Algorithm& row, const Placement& placement) {
  if (row.lifts) return shares_nodes(placement);
  const bool always = row.stands_for_others || row.kind == Kind::native;
  return always || !by_nodes(row.collective, placement);
}

Parameters same_among(const Plan& plan) {
  const auto among = plan.parameters.find("among");
  return among == plan.parameters.end() ? Parameters{} : Parameters{*among};
}

Count operations_on_node(const Plan& plan) {
  if (plan.placement.empty()) return 0;
  const Count bytes = plan.problem.bytes();
  const Nodes nodes(plan.placement, plan.problem.ranks);
  const Count most = nodes.most();
  const Count waves =
      bytes == 0 ? 1 : std::max<Count>(1, number_of_waves(plan.problem, copies_of(plan, nodes)));
  const auto asked = plan.parameters.find("pieces");
  const Count pieces = waves * (asked == plan.parameters.end() ? 1 : asked->second);
  const Count slices = std::clamp<Count>(bytes / pieces / kShortestSlice, 1, most);
  // Accumulate and await slices, or fill, await and combine cells; final flags, copies, end of use.
  return pieces * (2 * slices + 4 + (has_cells(plan) ? 2 * most : 0));
}

Seconds with_local_work(const Plan& plan, Seconds among, const Network& network) {
  const double ranks = Nodes(plan.placement, plan.problem.ranks).most();
  const auto bytes = static_cast<double>(plan.problem.bytes());
  const Seconds combined = (network.local_beta + (ranks - 1) * network.gamma) / ranks;  // per byte
  // Each rank adds its vector and copies the result; all share the memory of the node. To cells it
  // copies its vector, and combines a part of all.
  const bool cells = has_cells(plan);
  const Seconds adds = cells ? network.local_beta + (ranks - 1) / ranks * network.gamma : combined;
  const Seconds each =
      std::max(adds + network.local_beta, (cells ? 3 : 2) * ranks * network.memory);
  const double first =
      std::min(bytes, std::max<double>(kShortestPiece, bytes / static_cast<double>(kMostPieces)));
  const Seconds slices = (ranks - 1) * combined * std::min<double>(bytes, kShortestSlice);
  return std::max(among, each * bytes) + each * first + slices + 2 * network.local_alpha;
}

}  // namespace latecomer
