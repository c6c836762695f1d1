// Sorted gather, then broadcast (BSLB): all ranks send their part to rank 0, which takes them in
// the order in which they are to arrive, in the background also before it arrives itself; then it
// hands the vector out, along a binomial tree or by scatter and all-gather, whichever takes less
// time.
//
// Cost: (P-1) alpha + (P-1)/P m beta and the broadcast's. Use it where one rank is so late that the
// others' parts are at rank 0 by then: what is left after its arrival is a part and a broadcast.
// Source: Proficz 2021, listing 3 (BSLB).
#include "algorithms/moving/replay.hpp"
#include "algorithms/moving/store.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allgather {
namespace {

using moving::Moves;

enum class Handing : std::uint8_t { binomial, scatter_ring };

Handing handing(const Plan& plan) { return static_cast<Handing>(plan.parameters.at("bcast")); }

void add_broadcast(Moves& all, const Problem& problem, Handing way, Rank place) {
  const auto rank_at = [](Rank position) { return position; };
  if (way == Handing::binomial) {
    moving::add_binomial(all, problem.ranks, rank_at, {0, problem.count}, true);
  } else {
    moving::add_scatter_allgather(all, problem.ranks, rank_at, problem.count,
                                  moving::Gathering::ring, place);
  }
}

bool replayed(const Problem& problem) {
  return moving::scatter_allgather_moves(problem.ranks, moving::Gathering::ring) <=
         moving::kMostReplayed;
}

Seconds broadcast_time(const Plan& plan, const Network& network, Handing way) {
  const Problem& problem = plan.problem;
  if (replayed(problem)) {
    Moves all;
    add_broadcast(all, problem, way, moving::kEverybody);
    return moving::time(all, plan, network);
  }
  if (way == Handing::scatter_ring) {
    return moving::scatter_allgather_time(problem, network, moving::Gathering::ring);
  }
  return ceil_log2(problem.ranks) * network.transfer(problem.bytes());
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
  if (plan.parameters.contains("bcast")) return;
  const Network& network = knowledge.network;
  const bool parts = broadcast_time(plan, network, Handing::scatter_ring) <
                     broadcast_time(plan, network, Handing::binomial);
  plan.parameters["bcast"] = static_cast<Count>(parts ? Handing::scatter_ring : Handing::binomial);
}

Moves moves(const Plan& plan, Rank of) {
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  Moves all;
  for (const Rank rank : plan.order) {
    if (rank != 0) moving::add(all, {rank, 0, parts[rank], true});
  }
  add_broadcast(all, plan.problem, handing(plan), of);
  return all;
}

/// When rank 0 has all parts: one after another, none before its sender has arrived, and in the
/// foreground, where they are long, not before rank 0 has.
Seconds gathered_at(const Plan& plan, const Network& network,
                    const std::vector<Seconds>& arrivals) {
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  const bool early = plan.progress == Progress::background;
  Seconds link = std::ranges::min(arrivals);
  for (const Rank rank : plan.order) {
    const Count bytes = parts[rank].count * plan.problem.element_bytes;
    if (rank == 0 || bytes == 0) continue;
    const bool waits = bytes > network.eager_limit && !early;
    const Seconds both = waits ? std::max(arrivals[rank], arrivals[0]) : arrivals[rank];
    link = std::max(link, both) + network.transfer(bytes);
  }
  return std::max(link, arrivals[0]);
}

/// Of long lists as if all left with the last one.
Seconds time_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& arrivals) {
  if (!replayed(plan.problem)) {
    return gathered_at(plan, network, arrivals) + broadcast_time(plan, network, handing(plan)) -
           std::ranges::max(arrivals);
  }
  return moving::time_after_last(moves(plan, moving::kEverybody), plan, network, arrivals);
}

Seconds time(const Plan& plan, const Network& network) {
  const std::vector<Seconds> together(static_cast<std::size_t>(plan.problem.ranks), 0);
  if (!replayed(plan.problem)) return time_after_last(plan, network, together);
  return moving::time(moves(plan, moving::kEverybody), plan, network);
}

Cost cost(const Plan& plan) {
  const Problem& problem = plan.problem;
  const Count levels = ceil_log2(problem.ranks);
  if (plan.parameters.at("bcast") == static_cast<Count>(Handing::binomial)) {
    return {problem.ranks - 1 + levels, levels * problem.count, 0};
  }
  const moving::Work spread =
      moving::scatter_allgather_work(problem.ranks, problem.count, moving::Gathering::ring);
  return {problem.ranks - 1 + spread.rounds, spread.sent, 0};
}

}  // namespace

LATECOMER_ROW(allgather, sorted_gather_bcast) {
  return {.arrival_aware = true,
          .parameters = {{"bcast",
                          "how rank 0 hands the vector out; default: whichever takes less time",
                          0,
                          {"binomial", "scatter_ring"}}},
          .cost_formula = "(P-1) alpha + (P-1)/P m beta, and a broadcast",
          .source = "Proficz 2021, listing 3 (BSLB)",
          .fill_plan = fill_plan,
          .build = moving::build_of<moves>,
          .check = check_ordered,
          .cost = cost,
          .time = time,
          .time_after_last = time_after_last};
}

}  // namespace latecomer::allgather
