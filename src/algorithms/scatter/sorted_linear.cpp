// Sorted linear (SLIN): the root sends the parts in the order in which the ranks are to arrive.
// With background progress (BSLN) a rank that is still computing gets its part meanwhile.
//
// Cost: (P-1) alpha + (P-1)/P m beta; early ranks leave first. Use it for long parts.
// Source: Proficz 2020 (Cluster Computing 23), SLIN and BSLN, as described in Proficz 2021.
#include "algorithms/plan_checks.hpp"
#include "algorithms/scatter/flat.hpp"
#include "algorithms/scatter/rows.hpp"

namespace latecomer::scatter {
namespace {

void complete(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
}

}  // namespace

Algorithm sorted_linear() {
  return {.name = "sorted_linear",
          .collective = Collective::scatter,
          .kind = Kind::program,
          .arrival_aware = true,
          .commutative_only = false,
          .scratch_messages = 1,
          .parameters = {},
          .cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Proficz 2020 (SLIN; with background progress BSLN)",
          .complete = complete,
          .build = build_flat,
          .check = check_ordered,
          .cost = flat_cost,
          .time = flat_time,
          .time_after_last = flat_time_after_last};
}

}  // namespace latecomer::scatter
