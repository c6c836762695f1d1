// Ring: in each of P-1 rounds every rank forwards the part that it received last.
//
// Cost: (P-1) alpha + (P-1)/P m beta. The bytes are the least any all-gather needs; use it for long
// vectors and balanced arrivals. Parts may differ in length.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), section 3.1; "RING" of Proficz 2021.
#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"

namespace latecomer::allgather {
namespace {

using transfers::Transfers;

Transfers transfers_of(const Plan& plan, Rank me) {
  const Rank ranks = plan.problem.ranks;
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  Transfers all;
  const auto hand_on = [&](Rank rank, Rank round) {
    const Range part = parts[(rank + ranks - round) % ranks];
    transfers::add(all, {rank, (rank + 1) % ranks, part, round == 0});
  };
  for (Rank round = 0; round + 1 < ranks; ++round) {
    hand_on(me, round);
    hand_on((me + ranks - 1) % ranks, round);
  }
  return all;
}

Cost cost(const Plan& plan) {
  const Count rounds = plan.problem.ranks - 1;
  return {rounds, rounds * transfers::longest_part(plan.problem), 0};
}

}  // namespace

LATECOMER_ROW(allgather, ring) {
  return {.cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .build = transfers::build_of<transfers_of>,
          .cost = cost};
}

}  // namespace latecomer::allgather
