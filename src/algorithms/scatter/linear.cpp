// Linear: the root sends the parts one after another; in the order of the ranks, or sorted (SLIN)
// in the order in which they are to arrive. With background progress (BSLN) a rank that is still
// computing gets its part meanwhile.
//
// Cost: (P-1) alpha + (P-1)/P m beta; sorted, early ranks leave first. Use them for long parts.
// Source: Open MPI's scatter "linear"; Proficz 2020 (Cluster Computing 23), SLIN and BSLN, as
// described in Proficz 2021.
#include <algorithm>

#include "algorithms/moving/prices.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"

namespace latecomer::scatter {
namespace {

moving::Moves moves(const Plan& plan, Rank /*of*/) {
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  moving::Moves all;
  for (const Rank rank : plan.order) {
    if (rank != plan.problem.root) moving::add(all, {plan.problem.root, rank, parts[rank], true});
  }
  return all;
}

void build(const Plan& plan, Builder& builder) {
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  const Rank root = plan.problem.root;
  const Range own = parts[builder.me()];
  if (builder.me() != root) {
    const Slice landing = builder.background() ? builder.scratch(own.count) : builder.output(own);
    builder.recv(root, landing);
    return builder.copy(landing, builder.output(own));
  }
  for (const Rank rank : plan.order) {
    if (rank != root) builder.send(rank, builder.input(parts[rank]));
  }
  builder.copy(builder.input(own), builder.output(own));
}

Cost cost(const Plan& plan) {
  Cost cost;
  for (const moving::Move& move : moves(plan, moving::kEverybody)) {
    ++cost.rounds;
    cost.sent += move.range.count;
  }
  return cost;
}

}  // namespace

LATECOMER_ROW(scatter, sorted_linear) {
  return {.arrival_aware = true,
          .cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Proficz 2020 (SLIN; with background progress BSLN)",
          .fill_plan = moving::fill_sorted_order,
          .build = build,
          .check = check_ordered,
          .cost = cost,
          .time = moving::asked_at_once_time<moves>,
          .time_after_last = moving::time_after_last_of<moves>};
}

LATECOMER_ROW(scatter, linear) {
  Algorithm row = row_sorted_linear();
  row.arrival_aware = false;
  row.source = "Open MPI (linear)";
  row.fill_plan = moving::fill_rank_order;
  return row;
}

}  // namespace latecomer::scatter
