// Binomial tree: in each round each rank that has the vector sends it to one that has not.
//
// Cost: ceil(log2 P)(alpha + m beta). The fewest rounds; use it for short vectors.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), section 3.2.
#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"
#include "patterns/powers.hpp"
#include "patterns/trees.hpp"

namespace latecomer::bcast {
namespace {

transfers::Transfers transfers_of(const Plan& plan, Rank /*me*/) {
  const Rotated tree(plan.problem.ranks, plan.problem.root);
  transfers::Transfers all;
  transfers::add_binomial(
      all, plan.problem.ranks, [&](Rank position) { return tree.rank(position); },
      {0, plan.problem.count}, true);
  return all;
}

Cost cost(const Plan& plan) {
  const Count levels = ceil_log2(plan.problem.ranks);
  return {levels, levels * plan.problem.count, 0};
}

}  // namespace

LATECOMER_ROW(bcast, binomial) {
  return {.cost_formula = "ceil(log2 P)(alpha + m beta)",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .build = transfers::build_of<transfers_of>,
          .cost = cost};
}

}  // namespace latecomer::bcast
