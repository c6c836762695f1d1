// Linear tree: the pipelined chain 0, 1, ..., P-1, in rank order; segments are reduced up the
// chain and the result is handed round from its end.
//
// Cost, S segments: (max(S,P)+S+P-3)(alpha + m/S beta) + m/S gamma. Long vectors need about 2 m
// beta as the ring does; keeps rank order for operators that do not commute.
// Source: "linear tree" of Proficz 2018, section 4.1 (pipelined chain).
#include "algorithms/allreduce/chain.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"

namespace latecomer::allreduce {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, {});
  fill_chain(plan, knowledge.network, chain_time);
}

}  // namespace

LATECOMER_ROW(allreduce, linear_tree) {
  return {.parameters = chain_parameters(),
          .cost_formula = "(max(S,P)+S+P-3)(alpha + m/S beta) + m/S gamma",
          .source = "Proficz 2018, section 4.1 (linear tree)",
          .fill_plan = fill_plan,
          .build = build_chain,
          .check = check_ordered,
          .cost = chain_cost,
          .time = chain_time,
          .tells = always_tells};
}

}  // namespace latecomer::allreduce
