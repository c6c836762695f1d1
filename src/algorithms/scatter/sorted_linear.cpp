// Sorted linear (SLIN): the root sends the parts in the order in which the ranks are to arrive.
// With background progress (BSLN) a rank that is still computing gets its part meanwhile.
//
// Cost: (P-1) alpha + (P-1)/P m beta; early ranks leave first. Use it for long parts.
// Source: Proficz 2020 (Cluster Computing 23), SLIN and BSLN, as described in Proficz 2021.
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"
#include "algorithms/scatter/flat.hpp"

namespace latecomer::scatter {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
}

}  // namespace

LATECOMER_ROW(scatter, sorted_linear) {
  return {.arrival_aware = true,
          .cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Proficz 2020 (SLIN; with background progress BSLN)",
          .fill_plan = fill_plan,
          .build = build_flat,
          .check = check_ordered,
          .cost = flat_cost,
          .time = flat_time,
          .time_after_last = flat_time_after_last};
}

}  // namespace latecomer::scatter
