// Linear tree: the pipelined chain in rank order, or sorted by arrival (SLT): segments are reduced
// up the chain, and its end sends the result round (chains.cpp). Sorted, the early ranks reduce
// while the late ones compute; when the last rank arrives, the sum of all others is there.
//
// Cost, S segments: (max(S,P)+S+P-3)(alpha + m/S beta) + m/S gamma when all arrive together. In
// rank order it suits long vectors, which need about 2 m beta as in the ring, and operators that do
// not commute. Sorted, with one late rank it takes (S+P-1)(alpha + m/S beta) after this rank, close
// to m beta, the least possible, when S is large and the override goes ring-wise: use it for one
// late rank.
// Source: "linear tree" and SLT of Proficz 2018, section 4.1 (pipelined chain).
#include "algorithms/chains.hpp"
#include "algorithms/plans.hpp"

namespace latecomer::allreduce {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.parameters.try_emplace("override", static_cast<Count>(Override::ring));
  plan.order = order_by_arrival(plan.problem.ranks, {});
  fill_eager_segments(plan, knowledge.network, chain_cost);
}

void fill_sorted(Plan& plan, const Knowledge& knowledge) {
  const Rank ranks = plan.problem.ranks;
  const bool known = !knowledge.arrivals.empty();
  const auto& arrivals = known ? knowledge.arrivals : std::vector<Seconds>(ranks, 0);
  plan.parameters.try_emplace("override", static_cast<Count>(Override::ring));
  plan.order = order_by_arrival(ranks, knowledge.arrivals);
  fill_eager_segments(plan, knowledge.network, [&](const Plan& tried) {
    return chain_mean_after_last(tried, knowledge.network, arrivals);
  });
}

}  // namespace

LATECOMER_ROW(allreduce, linear_tree) {
  return {.parameters = chain_parameters(),
          .cost_formula = "(max(S,P)+S+P-3)(alpha + m/S beta) + m/S gamma",
          .source = "Proficz 2018, section 4.1 (linear tree)",
          .fill_plan = fill_plan,
          .build = build_chain,
          .check = check_ordered,
          .cost = chain_cost,
          .informs_all = always_informs};
}

LATECOMER_ROW(allreduce, sorted_linear_tree) {
  Algorithm row = row_linear_tree();
  row.arrival_aware = true;
  row.commutative_only = true;
  row.cost_formula = "(max(S,P)+S+P-3)(alpha + m/S beta) + m/S gamma at zero delay";
  row.source = "Proficz 2018, section 4.1 (SLT)";
  row.fill_plan = fill_sorted;
  row.mean_after_last = chain_mean_after_last;
  return row;
}

}  // namespace latecomer::allreduce
