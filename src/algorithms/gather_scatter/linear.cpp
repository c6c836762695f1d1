// Linear: the root receives, or sends, the parts one after another, in the order of the ranks or
// sorted (SLS of gather, SLIN of scatter) by expected arrival: it does not wait for one rank while
// it could serve another. With background progress (BSLS, BSLN) parts also travel while ranks
// compute.
//
// Cost: (P-1) alpha + (P-1)/P m beta at the root; sorted, a single part after one late rank. Use it
// for long parts. Open MPI's gather root asks each rank for its part ("linear_sync"); here it posts
// long receives from one rank at a time. Source: Open MPI; Proficz 2020, as told by Proficz 2021.
#include "algorithms/plans.hpp"
#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"

namespace latecomer {
namespace {

template <bool sorted>
void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.order =
      order_by_arrival(plan.problem.ranks, sorted ? knowledge.arrivals : std::vector<Seconds>{});
}

void build_gather(const Plan& plan, Builder& builder) {
  const Rank root = plan.problem.root;
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  if (builder.me() != root) return builder.send(root, builder.input(parts[builder.me()]));
  builder.copy(builder.input(parts[root]), builder.output(parts[root]));
  for (const Rank rank : plan.order) {
    if (rank == root) continue;
    const Slice place = builder.output(parts[rank]);
    const Slice landing = builder.background() ? builder.scratch(place.count) : place;
    builder.recv(rank, landing);
    builder.copy(landing, place);
  }
}

void build_scatter(const Plan& plan, Builder& builder) {
  const Range own = plan.problem.part(builder.me());
  const Rank root = plan.problem.root;
  if (builder.me() != root) {
    const Slice landing = builder.background() ? builder.scratch(own.count) : builder.output(own);
    builder.recv(root, landing);
    return builder.copy(landing, builder.output(own));
  }
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  for (const Rank rank : plan.order) {
    if (rank != root) builder.send(rank, builder.input(parts[rank]));
  }
  builder.copy(builder.input(own), builder.output(own));
}

Cost cost(const Plan& plan) {
  return {plan.problem.ranks - 1, plan.problem.count - plan.problem.part(plan.problem.root).count};
}

Algorithm row(bool sorted, std::string_view source, void (*build)(const Plan&, Builder&)) {
  return {.arrival_aware = sorted,
          .cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = source,
          .fill_plan = sorted ? fill_plan<true> : fill_plan<false>,
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
