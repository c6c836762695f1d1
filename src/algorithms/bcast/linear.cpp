// Linear: a pipelined chain from the root on, in the order of the ranks; or sorted by arrival, so
// that early ranks have the vector, and may leave, before the late ones arrive.
//
// Cost, S segments: (S+P-2)(alpha + m/S beta) when all arrive together; sorted, the last rank to
// arrive gets the vector m beta after its arrival, and with background progress finds it in its
// memory. Long vectors need little more than m beta. Use them for long vectors on few ranks.
// Source: Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra: Performance analysis of MPI
// collective operations, Cluster Computing 10 (2007) (pipeline); sorted: latecomer's own, in the
// order of the linear trees of Proficz 2018.
#include <algorithm>

#include "algorithms/chains.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/transfers.hpp"
#include "base/partition.hpp"
#include "patterns/trees.hpp"

namespace latecomer::bcast {
namespace {

void fill_sorted(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
  const auto root = std::find(plan.order.begin(), plan.order.end(), plan.problem.root);
  std::rotate(plan.order.begin(), root, root + 1);
  fill_chain(plan, knowledge.network, knowledge.arrivals);
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.order = rotated_order(plan.problem.ranks, plan.problem.root);
  fill_chain(plan, knowledge.network, {});
}

/// Each rank forwards segments to the next rank in the plan's order as it receives them.
void build(const Plan& plan, Builder& builder) {
  const auto at = std::find(plan.order.begin(), plan.order.end(), builder.me());
  const auto next = at + 1;
  const Partition segments(plan.problem.count, plan.parameters.at("segments"));
  const bool head = at == plan.order.begin();
  transfers::Store store(plan, builder);
  for (Count s = 0; s < plan.parameters.at("segments"); ++s) {
    const Range range = segments.range(s);
    if (range.empty()) return;
    if (!head) store.receive(*(at - 1), range);
    if (next != plan.order.end()) store.send({builder.me(), *next, range, head});
  }
}

}  // namespace

LATECOMER_ROW(bcast, sorted_linear) {
  return {.arrival_aware = true,
          .parameters = {segments_parameter(kEagerSegments)},
          .cost_formula = "(S+P-2)(alpha + m/S beta) at zero delay",
          .source = "latecomer",
          .fill_plan = fill_sorted,
          .build = build,
          .check = check_root_first,
          .cost = chain_cost,
          .mean_after_last = chain_mean_after_last};
}

LATECOMER_ROW(bcast, linear) {
  Algorithm row = row_sorted_linear();
  row.arrival_aware = false;
  row.cost_formula = "(S+P-2)(alpha + m/S beta)";
  row.source = "Pjesivac-Grbovic et al. 2007 (pipeline)";
  row.fill_plan = fill_plan;
  return row;
}

}  // namespace latecomer::bcast
