// Circulant: reduce-scatter and all-gather, each in ceil(log2 P) rounds on a circulant graph. In
// every round the partial results of the farther half move as far as possible.
//
// Cost: 2 ceil(log2 P) alpha + 2(P-1)/P m beta + (P-1)/P m gamma, for any P. Use it where
// generalized with as many steps is good; it differs in the distances.
// Source: Traeff: Optimal, non-pipelined reduce-scatter and allreduce algorithms, arXiv:2410.14234.
#include "algorithms/allreduce/generalized/designs.hpp"
#include "algorithms/allreduce/generalized/levels.hpp"
#include "algorithms/row.hpp"

namespace latecomer::allreduce {
namespace {

void fill_plan(Plan& plan, const Knowledge& /*knowledge*/) {
  Design design;
  design.distance = Distance::far;
  const Count order = plan.problem.ranks;
  const Count steps = fewest_steps(order, 1);
  if (order > 1) design.levels = {{order, 1, steps, steps}};
  plan.table = to_table(design);
}

}  // namespace

LATECOMER_ROW(allreduce, circulant) {
  return {.commutative_only = true,
          .scratch_messages = 2,
          .cost_formula = "2 ceil(log2 P) alpha + 2(P-1)/P m beta + (P-1)/P m gamma",
          .source = "Traeff 2024",
          .fill_plan = fill_plan,
          .build = build_levels,
          .check = check_levels,
          .cost = level_cost,
          .informs_all = levels_inform};
}

}  // namespace latecomer::allreduce
