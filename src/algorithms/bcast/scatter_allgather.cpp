// Scatter, then all-gather: the root scatters the vector in P blocks along a binomial tree, and all
// ranks gather the blocks, round a ring or by recursive doubling.
//
// Cost: (ceil(log2 P) + P-1) alpha + 2(P-1)/P m beta with the ring, 2 log2 P alpha with recursive
// doubling (for a power of two; others take the ring). Use it for long vectors on many ranks.
// Source: van de Geijn; Thakur, Rabenseifner, Gropp: Optimization of collective communication
// operations in MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), section 3.2. The ring leaves
// out the blocks that a rank has from the tree.
#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"
#include "patterns/powers.hpp"
#include "patterns/trees.hpp"

namespace latecomer::bcast {
namespace {

using transfers::Gathering;
using transfers::Transfers;

Gathering way_of(const Plan& plan) {
  return static_cast<Gathering>(plan.parameters.at("allgather"));
}

Cost cost_of(const Problem& problem, Gathering way) {
  return transfers::scatter_allgather_cost(problem.ranks, problem.count, way);
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Rank ranks = plan.problem.ranks;
  const bool power = Rank{1} << floor_log2(ranks) == ranks;
  if (power && plan.parameters.contains("allgather")) return;
  const auto time = [&](Gathering way) {
    return hockney_time(plan.problem, cost_of(plan.problem, way), knowledge.network);
  };
  const bool doubles = power && time(Gathering::doubling) < time(Gathering::ring);
  const Gathering way = doubles ? Gathering::doubling : Gathering::ring;
  plan.parameters["allgather"] = static_cast<Count>(way);
}

Transfers transfers_of(const Plan& plan, Rank me) {
  const Problem& problem = plan.problem;
  const Rotated from_root(problem.ranks, problem.root);
  Transfers all;
  transfers::add_scatter_allgather(
      all, problem.ranks, [&](Rank position) { return from_root.rank(position); }, problem.count,
      way_of(plan), from_root.position(me));
  return all;
}

Cost cost(const Plan& plan) { return cost_of(plan.problem, way_of(plan)); }

}  // namespace

LATECOMER_ROW(bcast, scatter_allgather) {
  return {.parameters = {{"allgather",
                          "how the blocks come together; default: whichever takes less time; "
                          "doubling for a power of two only",
                          0,
                          {"ring", "doubling"}}},
          .cost_formula = "(ceil(log2 P) + P-1) alpha + 2(P-1)/P m beta",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .fill_plan = fill_plan,
          .build = transfers::build_of<transfers_of>,
          .cost = cost};
}

}  // namespace latecomer::bcast
