// Sorted linear, synchronized (SLS): the root takes the parts in the order in which the ranks are
// to arrive, so that it never waits for a rank while another one's part is there. With background
// progress (BSLS) it does so before it arrives itself.
//
// Cost: (P-1) alpha + (P-1)/P m beta at the root; with one late rank a single part after its
// arrival. Use it for long parts. Source: Proficz 2020 (Cluster Computing 23), SLS and BSLS, as
// described in Proficz 2021.
#include "algorithms/gather/flat.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"

namespace latecomer::gather {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
}

}  // namespace

LATECOMER_ROW(gather, sorted_linear_sync) {
  return {.arrival_aware = true,
          .cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Proficz 2020 (SLS; with background progress BSLS)",
          .fill_plan = fill_plan,
          .build = build_flat,
          .check = check_ordered,
          .cost = flat_cost,
          .time = flat_time,
          .time_after_last = flat_time_after_last};
}

}  // namespace latecomer::gather
