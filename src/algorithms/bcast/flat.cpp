// Flat: the root sends the vector to every other rank itself.
//
// Cost: (P-1)(alpha + m beta). No rank waits for another one but the root. Use it for few ranks, or
// where most are late.
// Source: the flat tree of Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra: Performance
// analysis of MPI collective operations, Cluster Computing 10 (2007).
#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"

namespace latecomer::bcast {
namespace {

using transfers::Transfers;

Transfers transfers_of(const Plan& plan, Rank /*me*/) {
  const Problem& problem = plan.problem;
  Transfers all;
  for (Rank rank = 0; rank < problem.ranks; ++rank) {
    if (rank == problem.root) continue;
    transfers::add(all, {problem.root, rank, {0, problem.count}, true});
  }
  return all;
}

Cost cost(const Plan& plan) {
  const Count others = plan.problem.ranks - 1;
  return {others, others * plan.problem.count, 0};
}

}  // namespace

LATECOMER_ROW(bcast, flat) {
  return {.cost_formula = "(P-1)(alpha + m beta)",
          .source = "Pjesivac-Grbovic et al. 2007 (flat tree)",
          .build = transfers::build_of<transfers_of>,
          .cost = cost};
}

}  // namespace latecomer::bcast
