// Gather, then broadcast: all ranks send their part to rank 0, which hands the vector out along a
// binomial tree.
//
// Cost: (P-1 + ceil(log2 P)) alpha + (P-1)/P m beta + ceil(log2 P) m beta. A baseline: others are
// better when all arrive together.
// Source: "LNBC" of Proficz 2021.
#include "algorithms/moving/replay.hpp"
#include "algorithms/moving/store.hpp"
#include "algorithms/row.hpp"
#include "patterns/powers.hpp"
#include "patterns/trees.hpp"

namespace latecomer::allgather {
namespace {

using moving::Moves;

Moves moves(const Plan& plan, Rank /*of*/) {
  const Rank ranks = plan.problem.ranks;
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  Moves all;
  for (Rank rank = 1; rank < ranks; ++rank) moving::add(all, {rank, 0, parts[rank], true});
  const auto rank_at = [](Rank position) { return position; };
  moving::add_binomial(all, ranks, rank_at, {0, plan.problem.count}, true);
  return all;
}

Cost cost(const Plan& plan) {
  const Count levels = ceil_log2(plan.problem.ranks);
  return {plan.problem.ranks - 1 + levels, levels * plan.problem.count, 0};
}

Seconds time(const Plan& plan, const Network& network) {
  const Problem& problem = plan.problem;
  Seconds gathered = 0;
  for (const Range& part : moving::parts_of(problem)) {
    if (part.begin == 0 || part.empty()) continue;  // rank 0's own, or none
    gathered += network.transfer(part.count * problem.element_bytes);
  }
  const auto node_of = [&](Rank rank) { return binomial_node(problem.ranks, rank); };
  return gathered + time_down(node_of, 0, network.transfer(problem.bytes()));
}

bool tells(const Plan& plan) { return moving::all_have_parts(plan.problem); }

}  // namespace

LATECOMER_ROW(allgather, gather_bcast) {
  return {.cost_formula = "(P-1 + ceil(log2 P)) alpha + ((P-1)/P + ceil(log2 P)) m beta",
          .source = "LNBC of Proficz 2021",
          .build = moving::build_of<moves>,
          .cost = cost,
          .time = time,
          .time_after_last = moving::time_after_last_of<moves>,
          .tells = tells};
}

}  // namespace latecomer::allgather
