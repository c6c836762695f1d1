// Sorted linear: a pipelined chain with the root first and the others in the order in which they
// arrive, so that early ranks have the vector, and may leave, before the late ones come.
//
// Cost, S segments: (S+P-2)(alpha + m/S beta) when all arrive together; a rank that comes last gets
// the vector m beta after its arrival. With background progress it finds it in its memory. Use it
// for long vectors. Source: latecomer's own; the order is that of the linear trees of Proficz 2018.
#include <algorithm>

#include "algorithms/bcast/chain.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"

namespace latecomer::bcast {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
  const auto root = std::find(plan.order.begin(), plan.order.end(), plan.problem.root);
  std::rotate(plan.order.begin(), root, root + 1);
  fill_chain(plan, knowledge.network, knowledge.arrivals);
}

}  // namespace

LATECOMER_ROW(bcast, sorted_linear) {
  return {.arrival_aware = true,
          .parameters = chain_parameters(),
          .cost_formula = "(S+P-2)(alpha + m/S beta) at zero delay",
          .source = "latecomer",
          .fill_plan = fill_plan,
          .build = build_chain,
          .check = check_root_first,
          .cost = chain_cost,
          .time = chain_time,
          .time_after_last = chain_time_after_last};
}

}  // namespace latecomer::bcast
