// Linear: the root sends the parts in the order of the ranks.
//
// Cost: (P-1) alpha + (P-1)/P m beta. Use it for long parts on few ranks.
// Source: Open MPI's scatter "linear".
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"
#include "algorithms/scatter/flat.hpp"

namespace latecomer::scatter {
namespace {

void fill_plan(Plan& plan, const Knowledge& /*knowledge*/) {
  plan.order = order_by_arrival(plan.problem.ranks, {});
}

}  // namespace

LATECOMER_ROW(scatter, linear) {
  return {.cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Open MPI (linear)",
          .fill_plan = fill_plan,
          .build = build_flat,
          .check = check_ordered,
          .cost = flat_cost,
          .time = flat_time,
          .time_after_last = flat_time_after_last};
}

}  // namespace latecomer::scatter
