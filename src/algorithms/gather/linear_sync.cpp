// Linear, synchronized: the root takes the parts in the order of the ranks, one after another.
//
// Cost: (P-1) alpha + (P-1)/P m beta at the root. Use it for long parts on few ranks. Open MPI's
// root asks each rank for its part by an empty message; here it posts long receives from one rank
// at a time, and a transfer that waits for its receiver is asked for by that. Source: Open MPI's
// gather "linear_sync".
#include "algorithms/gather/flat.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"

namespace latecomer::gather {
namespace {

void fill_plan(Plan& plan, const Knowledge& /*knowledge*/) {
  plan.order = order_by_arrival(plan.problem.ranks, {});
}

}  // namespace

LATECOMER_ROW(gather, linear_sync) {
  return {.cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Open MPI (linear_sync)",
          .fill_plan = fill_plan,
          .build = build_flat,
          .check = check_ordered,
          .cost = flat_cost,
          .time = flat_time,
          .time_after_last = flat_time_after_last};
}

}  // namespace latecomer::gather
