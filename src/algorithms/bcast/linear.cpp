// Linear: a pipelined chain in the order of the ranks, from the root on.
//
// Cost, S segments: (S+P-2)(alpha + m/S beta). Long vectors need little more than m beta; use it
// for them, on few ranks. Source: Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra:
// Performance analysis of MPI collective operations, Cluster Computing 10 (2007) (pipeline).
#include "algorithms/bcast/chain.hpp"
#include "algorithms/bcast/rows.hpp"
#include "algorithms/plan_checks.hpp"
#include "patterns/rotated.hpp"

namespace latecomer::bcast {
namespace {

void complete(Plan& plan, const Knowledge& knowledge) {
  const Rotated from_root(plan.problem.ranks, plan.problem.root);
  for (Rank at = 0; at < plan.problem.ranks; ++at) plan.order.push_back(from_root.rank(at));
  complete_chain(plan, knowledge.network, {});
}

}  // namespace

Algorithm linear() {
  return {.name = "linear",
          .collective = Collective::bcast,
          .kind = Kind::program,
          .arrival_aware = false,
          .commutative_only = false,
          .scratch_messages = 1,
          .parameters = chain_parameters(),
          .cost_formula = "(S+P-2)(alpha + m/S beta)",
          .source = "Pjesivac-Grbovic et al. 2007 (pipeline)",
          .complete = complete,
          .build = build_chain,
          .check = check_root_first,
          .cost = chain_cost,
          .time = chain_time,
          .time_after_last = chain_time_after_last};
}

}  // namespace latecomer::bcast
