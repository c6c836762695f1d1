// Gather, then broadcast: all ranks send their part to rank 0, which broadcasts the vector along a
// binomial tree. Cost: (P-1 + ceil(log2 P)) alpha + (P-1)/P m beta + ceil(log2 P) m beta. A
// baseline: other algorithms are faster when all ranks arrive together. Source: "LNBC" of Proficz
// 2021.
//
// Sorted gather, then broadcast (BSLB): all ranks send their part to rank 0, which receives them in
// the expected order of arrival, in the background also before it arrives itself; then it
// broadcasts the vector, along a binomial tree or by scatter and all-gather.
//
// Cost: (P-1) alpha + (P-1)/P m beta and the broadcast's. Use it where one rank is so late that the
// others' parts are at rank 0 by then: one part and a broadcast are left after its arrival. Source:
// Proficz 2021, listing 3 (BSLB).
#include "algorithms/plans.hpp"
#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allgather {
namespace {

using transfers::Transfers;

enum class Handing : std::uint8_t { binomial, scatter_ring };

Handing handing(const Plan& plan) {
  const auto set = plan.parameters.find("bcast");
  return set == plan.parameters.end() ? Handing::binomial : static_cast<Handing>(set->second);
}

void add_broadcast(Transfers& all, const Problem& problem, Handing way, Rank place) {
  const auto rank_at = [](Rank position) { return position; };
  if (way == Handing::binomial) {
    transfers::add_binomial(all, problem.ranks, rank_at, {0, problem.count}, true);
  } else {
    transfers::add_scatter_allgather(all, problem.ranks, rank_at, problem.count,
                                     transfers::Gathering::ring, place);
  }
}

Cost handing_cost(const Problem& problem, Handing way) {
  const Count levels = ceil_log2(problem.ranks);
  if (way == Handing::binomial) return {levels, levels * problem.count};
  return transfers::scatter_allgather_cost(problem.ranks, problem.count,
                                           transfers::Gathering::ring);
}

void fill_sorted(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
  if (plan.parameters.contains("bcast")) return;
  const auto time = [&](Handing way) {
    return hockney_time(plan.problem, handing_cost(plan.problem, way), knowledge.network);
  };
  const bool parts = time(Handing::scatter_ring) < time(Handing::binomial);
  plan.parameters["bcast"] = static_cast<Count>(parts ? Handing::scatter_ring : Handing::binomial);
}

Transfers transfers_of(const Plan& plan, Rank me) {
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  Transfers all;
  for (Rank at = 0; at < plan.problem.ranks; ++at) {
    const Rank rank = plan.order.empty() ? at : plan.order[static_cast<std::size_t>(at)];
    if (rank != 0) transfers::add(all, {rank, 0, parts[rank], true});
  }
  add_broadcast(all, plan.problem, handing(plan), me);
  return all;
}

Cost cost(const Plan& plan) {
  const Problem& problem = plan.problem;
  const Cost gathered{problem.ranks - 1, problem.count - problem.part(0).count};
  return gathered + handing_cost(problem, handing(plan));
}

}  // namespace

LATECOMER_ROW(allgather, gather_bcast) {
  return {.cost_formula = "(P-1 + ceil(log2 P)) alpha + ((P-1)/P + ceil(log2 P)) m beta",
          .source = "LNBC of Proficz 2021",
          .build = transfers::build_of<transfers_of>,
          .cost = cost,
          .informs_all = transfers::all_have_parts};
}

LATECOMER_ROW(allgather, sorted_gather_bcast) {
  return {.arrival_aware = true,
          .parameters = {{"bcast",
                          "how rank 0 hands the vector out; default: whichever takes less time",
                          0,
                          {"binomial", "scatter_ring"}}},
          .cost_formula = "(P-1) alpha + (P-1)/P m beta, and a broadcast",
          .source = "Proficz 2021, listing 3 (BSLB)",
          .fill_plan = fill_sorted,
          .build = transfers::build_of<transfers_of>,
          .check = check_ordered,
          .cost = cost};
}

}  // namespace latecomer::allgather
