// Linear, synchronized: the root takes the parts one after another; in the order of the ranks, or
// sorted (SLS) in the order in which they are to arrive, so that it never waits for a rank while
// another one's part is there. With background progress (BSLS) it does so before it arrives itself.
//
// Cost: (P-1) alpha + (P-1)/P m beta at the root; sorted, with one late rank a single part after
// its arrival. Use them for long parts. Open MPI's root asks each rank for its part by an empty
// message; here it posts long receives from one rank at a time, and a transfer that waits for its
// receiver is asked for by that. Source: Open MPI's gather "linear_sync"; Proficz 2020 (Cluster
// Computing 23), SLS and BSLS, as described in Proficz 2021.
#include <algorithm>

#include "algorithms/moving/prices.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"

namespace latecomer::gather {
namespace {

moving::Moves moves(const Plan& plan, Rank /*of*/) {
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  moving::Moves all;
  for (const Rank rank : plan.order) {
    if (rank != plan.problem.root) moving::add(all, {rank, plan.problem.root, parts[rank], true});
  }
  return all;
}

void build(const Plan& plan, Builder& builder) {
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  const Rank root = plan.problem.root;
  if (builder.me() != root) return builder.send(root, builder.input(parts[builder.me()]));
  for (const Rank rank : plan.order) {
    const Slice place = builder.output(parts[rank]);
    if (rank == root) {
      builder.copy(builder.input(parts[rank]), place);
      continue;
    }
    const Slice landing = builder.background() ? builder.scratch(place.count) : place;
    builder.recv(rank, landing);
    builder.copy(landing, place);
  }
}

Cost cost(const Plan& plan) {
  Cost cost;
  for (const moving::Move& move : moves(plan, moving::kEverybody)) {
    ++cost.rounds;
    cost.sent = std::max(cost.sent, move.range.count);
  }
  return cost;
}

}  // namespace

LATECOMER_ROW(gather, sorted_linear_sync) {
  return {.arrival_aware = true,
          .cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Proficz 2020 (SLS; with background progress BSLS)",
          .fill_plan = moving::fill_sorted_order,
          .build = build,
          .check = check_ordered,
          .cost = cost,
          .time = moving::one_by_one_time<moves>,
          .time_after_last = moving::time_after_last_of<moves>};
}

LATECOMER_ROW(gather, linear_sync) {
  Algorithm row = row_sorted_linear_sync();
  row.arrival_aware = false;
  row.source = "Open MPI (linear_sync)";
  row.fill_plan = moving::fill_rank_order;
  return row;
}

}  // namespace latecomer::gather
