// Binomial tree: each rank of a gather sends its subtree's parts to its parent, half of the ranks
// in each round; a scatter takes the same way in the other direction.
//
// Cost: ceil(log2 P) alpha + (P-1)/P m beta. The fewest rounds; use it for short parts.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), sections 3.2 and 3.5.
#include "algorithms/gather_scatter/part_tree.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/row.hpp"

namespace latecomer {
namespace {

void fill_plan(Plan& plan, const Knowledge& /*knowledge*/) {
  plan.order = rotated_order(plan.problem.ranks, plan.problem.root);
}

void build_gather(const Plan& plan, Builder& builder) {
  const Range own = plan.problem.part(builder.me());
  PartTree(plan.problem, plan.order).gather(builder.input(own), {}, builder);
}

void build_scatter(const Plan& plan, Builder& builder) {
  PartTree(plan.problem, plan.order).scatter(builder);
}

Cost cost(const Plan& plan) { return PartTree(plan.problem, plan.order).cost(); }

Algorithm row(void (*build)(const Plan&, Builder&)) {
  return {.cost_formula = "ceil(log2 P) alpha + (P-1)/P m beta",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .fill_plan = fill_plan,
          .build = build,
          .check = check_root_first,
          .cost = cost};
}

}  // namespace

namespace gather {
LATECOMER_ROW(gather, binomial) { return row(build_gather); }
}  // namespace gather

namespace scatter {
LATECOMER_ROW(scatter, binomial) { return row(build_scatter); }
}  // namespace scatter

}  // namespace latecomer
