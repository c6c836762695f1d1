// Linear tree: the pipelined chain 0, 1, ..., P-1, in rank order; segments are reduced up the
// chain and the result is handed round from its end.
//
// Cost, S segments: (max(S,P)+S+P-3)(alpha + m/S beta) + m/S gamma. Long vectors need about 2 m
// beta as the ring does; keeps rank order for operators that do not commute.
// Source: "linear tree" of Proficz 2018, section 4.1 (pipelined chain).
#include "algorithms/allreduce/chain.hpp"
#include "algorithms/allreduce/rows.hpp"
#include "algorithms/plan_checks.hpp"

namespace latecomer::allreduce {
namespace {

void complete(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, {});
  complete_chain(plan, knowledge.network, chain_time);
}

}  // namespace

Algorithm linear_tree() {
  return {.name = "linear_tree",
          .collective = Collective::allreduce,
          .kind = Kind::program,
          .arrival_aware = false,
          .commutative_only = false,
          .scratch_messages = 1,
          .parameters = chain_parameters(),
          .cost_formula = "(max(S,P)+S+P-3)(alpha + m/S beta) + m/S gamma",
          .source = "Proficz 2018, section 4.1 (linear tree)",
          .complete = complete,
          .build = build_chain,
          .check = check_ordered,
          .cost = chain_cost,
          .time = chain_time,
          .tells = always_tells};
}

}  // namespace latecomer::allreduce
