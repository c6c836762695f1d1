// Linear tree: the pipelined chain. Where the operator commutes it runs once around the ranks and
// ends in the root; otherwise two chains in rank order, from rank 0 and from rank P-1, meet there.
//
// Cost, S segments: (S+P-2)(alpha + m/S beta) + (P-1) m/S gamma, close to m beta for long vectors;
// of two chains that meet, twice as much. Use it for long vectors.
// Source: the "linear tree" of Proficz 2018, section 4.1, without the way back.
#include "algorithms/plan_checks.hpp"
#include "algorithms/reduce/chain.hpp"
#include "algorithms/row.hpp"
#include "patterns/rotated.hpp"

namespace latecomer::reduce {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const Rotated line(problem.ranks, problem.commutative ? problem.root + 1 : 0);
  for (Rank at = 0; at < problem.ranks; ++at) plan.order.push_back(line.rank(at));
  fill_chain(plan, knowledge.network, chain_time);
}

}  // namespace

LATECOMER_ROW(reduce, linear_tree) {
  return {.scratch_messages = 3,
          .parameters = chain_parameters(),
          .cost_formula = "(S+P-2)(alpha + m/S beta) + (P-1) m/S gamma",
          .source = "Proficz 2018, section 4.1 (linear tree)",
          .fill_plan = fill_plan,
          .build = build_chain,
          .check = check_ordered,
          .cost = chain_cost,
          .time = chain_time};
}

}  // namespace latecomer::reduce
