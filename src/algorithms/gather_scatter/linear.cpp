// Linear: the root takes, or sends, the parts one after another; in the order of the ranks, or
// sorted in the order in which they are to arrive, so that the root does not wait for a rank while
// it could serve another one: SLS of gather, SLIN of scatter. With background progress (BSLS, BSLN)
// parts also travel while their receiver computes.
//
// Cost: (P-1) alpha + (P-1)/P m beta at the root. Sorted, with one late rank a single part is left
// after its arrival. Use them for long parts. Open MPI's gather root asks each rank for its part by
// an empty message ("linear_sync"); here the root posts long receives from one rank at a time.
// Source: Open MPI's gather "linear_sync" and scatter "linear"; Proficz 2020 (Cluster Computing
// 23), SLS, BSLS, SLIN and BSLN, as described in Proficz 2021.
#include "algorithms/moving/moves.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"

namespace latecomer {
namespace {

void fill_rank_order(Plan& plan, const Knowledge& /*knowledge*/) {
  plan.order = order_by_arrival(plan.problem.ranks, {});
}
void fill_sorted_order(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
}

void build_gather(const Plan& plan, Builder& builder) {
  const Problem& problem = plan.problem;
  const Rank me = builder.me();
  if (me != problem.root) return builder.send(problem.root, builder.input(problem.part(me)));
  const std::vector<Range> parts = moving::parts_of(problem);
  builder.copy(builder.input(parts[me]), builder.output(parts[me]));
  for (const Rank rank : plan.order) {
    if (rank == me) continue;
    const Slice place = builder.output(parts[rank]);
    const Slice landing = builder.background() ? builder.scratch(place.count) : place;
    builder.recv(rank, landing);
    builder.copy(landing, place);
  }
}

void build_scatter(const Plan& plan, Builder& builder) {
  const Problem& problem = plan.problem;
  const Range own = problem.part(builder.me());
  if (builder.me() != problem.root) {
    const Slice landing = builder.background() ? builder.scratch(own.count) : builder.output(own);
    builder.recv(problem.root, landing);
    return builder.copy(landing, builder.output(own));
  }
  const std::vector<Range> parts = moving::parts_of(problem);
  for (const Rank rank : plan.order) {
    if (rank != problem.root) builder.send(rank, builder.input(parts[rank]));
  }
  builder.copy(builder.input(own), builder.output(own));
}

Cost cost(const Plan& plan) {
  Cost cost;
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  for (const Rank rank : plan.order) {
    const bool sent = rank != plan.problem.root && !parts[rank].empty();
    if (sent) cost = cost + Cost{1, parts[rank].count};
  }
  return cost;
}

Algorithm row(bool sorted, std::string_view source, void (*build)(const Plan&, Builder&)) {
  return {.arrival_aware = sorted,
          .cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = source,
          .fill_plan = sorted ? fill_sorted_order : fill_rank_order,
          .build = build,
          .check = check_ordered,
          .cost = cost};
}

}  // namespace

namespace gather {
LATECOMER_ROW(gather, linear_sync) { return row(false, "Open MPI (linear_sync)", build_gather); }
LATECOMER_ROW(gather, sorted_linear_sync) {
  return row(true, "Proficz 2020 (SLS; with background progress BSLS)", build_gather);
}
}  // namespace gather

namespace scatter {
LATECOMER_ROW(scatter, linear) { return row(false, "Open MPI (linear)", build_scatter); }
LATECOMER_ROW(scatter, sorted_linear) {
  return row(true, "Proficz 2020 (SLIN; with background progress BSLN)", build_scatter);
}
}  // namespace scatter

}  // namespace latecomer
