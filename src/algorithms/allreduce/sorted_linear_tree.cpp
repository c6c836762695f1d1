// Sorted linear tree (SLT): the pipelined chain with the ranks sorted by arrival. The early ranks
// reduce while the late ones compute; the last one finds the sum of all others on its doorstep.
//
// Cost, S segments: (max(S,P)+S+P-3)(alpha + m/S beta) + m/S gamma when all arrive together; with
// one late rank (S+P-1)(alpha + m/S beta) after it, close to m beta, the least possible, when S is
// large and the override goes ring-wise. Use it for one late rank; balanced, the ring is better.
// Source: Proficz 2018, section 4.1 (SLT).
#include "algorithms/allreduce/chain.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"

namespace latecomer::allreduce {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Rank ranks = plan.problem.ranks;
  plan.order = order_by_arrival(ranks, knowledge.arrivals);
  const bool known = !knowledge.arrivals.empty();
  const auto& arrivals = known ? knowledge.arrivals : std::vector<Seconds>(ranks, 0);
  fill_chain(plan, knowledge.network, [&](const Plan& tried, const Network& network) {
    return chain_time_after_last(tried, network, arrivals);
  });
}

}  // namespace

LATECOMER_ROW(allreduce, sorted_linear_tree) {
  return {.arrival_aware = true,
          .commutative_only = true,
          .parameters = chain_parameters(),
          .cost_formula = "(max(S,P)+S+P-3)(alpha + m/S beta) + m/S gamma at zero delay",
          .source = "Proficz 2018, section 4.1 (SLT)",
          .fill_plan = fill_plan,
          .build = build_chain,
          .check = check_ordered,
          .cost = chain_cost,
          .time = chain_time,
          .time_after_last = chain_time_after_last,
          .tells = always_tells};
}

}  // namespace latecomer::allreduce
