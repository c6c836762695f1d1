// Linear: a pipelined chain in the order of the ranks, from the root on.
//
// Cost, S segments: (S+P-2)(alpha + m/S beta). Long vectors need little more than m beta; use it
// for them, on few ranks. Source: Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra:
// Performance analysis of MPI collective operations, Cluster Computing 10 (2007) (pipeline).
#include "algorithms/bcast/chain.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"
#include "patterns/rotated.hpp"

namespace latecomer::bcast {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Rotated from_root(plan.problem.ranks, plan.problem.root);
  for (Rank at = 0; at < plan.problem.ranks; ++at) plan.order.push_back(from_root.rank(at));
  fill_chain(plan, knowledge.network, {});
}

}  // namespace

LATECOMER_ROW(bcast, linear) {
  return {.parameters = chain_parameters(),
          .cost_formula = "(S+P-2)(alpha + m/S beta)",
          .source = "Pjesivac-Grbovic et al. 2007 (pipeline)",
          .fill_plan = fill_plan,
          .build = build_chain,
          .check = check_root_first,
          .cost = chain_cost,
          .time = chain_time,
          .time_after_last = chain_time_after_last};
}

}  // namespace latecomer::bcast
