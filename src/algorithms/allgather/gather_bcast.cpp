// Gather, then broadcast: all ranks send their part to rank 0, which broadcasts the vector along a
// binomial tree.
//
// Cost: (P-1 + ceil(log2 P)) alpha + (P-1)/P m beta + ceil(log2 P) m beta. A baseline: other
// algorithms are faster when all ranks arrive together.
// Source: "LNBC" of Proficz 2021.
#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allgather {
namespace {

using transfers::Transfers;

Transfers transfers_of(const Plan& plan, Rank /*of*/) {
  const Rank ranks = plan.problem.ranks;
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  Transfers all;
  for (Rank rank = 1; rank < ranks; ++rank) transfers::add(all, {rank, 0, parts[rank], true});
  const auto rank_at = [](Rank position) { return position; };
  transfers::add_binomial(all, ranks, rank_at, {0, plan.problem.count}, true);
  return all;
}

Cost cost(const Plan& plan) {
  const Problem& problem = plan.problem;
  const Count levels = ceil_log2(problem.ranks);
  const Count gathered = problem.count - problem.part(0).count;
  return {problem.ranks - 1 + levels, gathered + levels * problem.count};
}

bool informs_all(const Plan& plan) { return transfers::all_have_parts(plan.problem); }

}  // namespace

LATECOMER_ROW(allgather, gather_bcast) {
  return {.cost_formula = "(P-1 + ceil(log2 P)) alpha + ((P-1)/P + ceil(log2 P)) m beta",
          .source = "LNBC of Proficz 2021",
          .build = transfers::build_of<transfers_of>,
          .cost = cost,
          .informs_all = informs_all};
}

}  // namespace latecomer::allgather
