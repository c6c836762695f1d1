// Linear tree: the pipelined chain (chains.cpp). Where the operator commutes, it runs once around
// the ranks and ends in the root; otherwise two chains in rank order, from rank 0 and from rank
// P-1, meet there. Sorted: by arrival, the root last. The early ranks reduce while the late ones
// compute; when a late root arrives, the sum of all others is there, with background progress in
// its scratch.
//
// Cost, S segments: (S+P-2)(alpha + m/S beta) + (P-1) m/S gamma when all arrive together, close to
// m beta for long vectors; twice as much for two chains that meet. Sorted, with one late rank that
// is not the root, about (S+1)(alpha + m/S beta) after it, close to m beta, the least possible. Use
// them for long vectors. Source: the "linear tree" and SLT of Proficz 2018, section 4.1, without
// the way back. `clairvoyant` (clairvoyant/) has the same aim as the sorted chain.

#include "algorithms/chains.hpp"
#include "algorithms/plans.hpp"
#include "patterns/trees.hpp"

namespace latecomer::reduce {
namespace {

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  plan.order = rotated_order(problem.ranks, problem.commutative ? problem.root + 1 : 0);
  fill_eager_segments(plan, knowledge.network, chain_cost);
}

void fill_sorted(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const bool known = !knowledge.arrivals.empty();
  const auto& arrivals = known ? knowledge.arrivals : std::vector<Seconds>(problem.ranks, 0);
  plan.order = order_by_arrival(problem.ranks, knowledge.arrivals);
  std::erase(plan.order, problem.root);
  plan.order.push_back(problem.root);
  fill_eager_segments(plan, knowledge.network, [&](const Plan& tried) {
    return chain_mean_after_last(tried, knowledge.network, arrivals);
  });
}

}  // namespace

LATECOMER_ROW(reduce, linear_tree) {
  return {.scratch_messages = 3,
          .parameters = {segments_parameter(kEagerSegments)},
          .cost_formula = "(S+P-2)(alpha + m/S beta) + (P-1) m/S gamma",
          .source = "Proficz 2018, section 4.1 (linear tree)",
          .fill_plan = fill_plan,
          .build = build_chain,
          .check = check_ordered,
          .cost = chain_cost};
}

LATECOMER_ROW(reduce, sorted_linear_tree) {
  Algorithm row = row_linear_tree();
  row.arrival_aware = true;
  row.commutative_only = true;
  row.cost_formula = "(S+P-2)(alpha + m/S beta) + (P-1) m/S gamma at zero delay";
  row.source = "Proficz 2018, section 4.1 (SLT), for reduce";
  row.fill_plan = fill_sorted;
  row.check = check_root_last;
  row.mean_after_last = chain_mean_after_last;
  return row;
}

}  // namespace latecomer::reduce
