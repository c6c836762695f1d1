// Linear: the root sends the parts in the order of the ranks.
//
// Cost: (P-1) alpha + (P-1)/P m beta. Use it for long parts on few ranks.
// Source: Open MPI's scatter "linear".
#include "algorithms/plan_checks.hpp"
#include "algorithms/scatter/flat.hpp"
#include "algorithms/scatter/rows.hpp"

namespace latecomer::scatter {
namespace {

void complete(Plan& plan, const Knowledge& /*knowledge*/) {
  plan.order = order_by_arrival(plan.problem.ranks, {});
}

}  // namespace

Algorithm linear() {
  return {.name = "linear",
          .collective = Collective::scatter,
          .kind = Kind::program,
          .arrival_aware = false,
          .commutative_only = false,
          .scratch_messages = 1,
          .parameters = {},
          .cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Open MPI (linear)",
          .complete = complete,
          .build = build_flat,
          .check = check_ordered,
          .cost = flat_cost,
          .time = flat_time,
          .time_after_last = flat_time_after_last};
}

}  // namespace latecomer::scatter
