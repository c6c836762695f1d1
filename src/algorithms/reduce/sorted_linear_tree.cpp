// Sorted linear tree: the pipelined chain with the ranks sorted by arrival and the root at its end.
// The early ranks reduce while the late ones compute; a late root finds the sum of all others on
// its doorstep, with background progress in its scratch.
//
// Cost, S segments: (S+P-2)(alpha + m/S beta) + (P-1) m/S gamma when all arrive together; with one
// late rank that is not the root about (S+1)(alpha + m/S beta) after it, close to m beta, the least
// possible. Use it for long vectors and late ranks.
// Source: what Proficz 2018, section 4.1, does for all-reduce; it stands for the segmented
// reduction of Marendic et al. 2016 (Clairvoyant), whose aim it shares: as many segments as can be
// are reduced by the ranks that are there.
#include <algorithm>

#include "algorithms/plan_checks.hpp"
#include "algorithms/reduce/chain.hpp"
#include "algorithms/row.hpp"

namespace latecomer::reduce {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const bool known = !knowledge.arrivals.empty();
  const auto& arrivals = known ? knowledge.arrivals : std::vector<Seconds>(problem.ranks, 0);
  plan.order = order_by_arrival(problem.ranks, knowledge.arrivals);
  std::erase(plan.order, problem.root);
  plan.order.push_back(problem.root);
  fill_chain(plan, knowledge.network, [&](const Plan& tried, const Network& network) {
    return chain_time_after_last(tried, network, arrivals);
  });
}

}  // namespace

LATECOMER_ROW(reduce, sorted_linear_tree) {
  return {.arrival_aware = true,
          .commutative_only = true,
          .scratch_messages = 3,
          .parameters = chain_parameters(),
          .cost_formula = "(S+P-2)(alpha + m/S beta) + (P-1) m/S gamma at zero delay",
          .source = "Proficz 2018, section 4.1 (SLT), for reduce",
          .fill_plan = fill_plan,
          .build = build_chain,
          .check = check_root_last,
          .cost = chain_cost,
          .time = chain_time,
          .time_after_last = chain_time_after_last};
}

}  // namespace latecomer::reduce
