// Segmented ring: the ring with S/P segments to each rank's block, so that combining a segment
// overlaps with moving the next one, and segments can be short enough to be sent eagerly.
//
// Cost: 2S(P-1)/P alpha + 2(P-1)/P m beta + m/S gamma beyond what transfers hide. Use it for long
// vectors and balanced arrivals. By default S takes the least time: P as in the ring where
// start-ups outweigh combining; eager segments where long messages need a handshake, if these do
// not cost much more.
// Source: Open MPI's segmented ring (Graham, Woodall, Squyres 2005) in idea; Proficz 2018 for S.
#include <algorithm>

#include "algorithms/allreduce/ring.hpp"
#include "algorithms/row.hpp"
#include "algorithms/segments.hpp"

namespace latecomer::allreduce {
namespace {

constexpr Count kMostPerRank = 64;  // start-ups would dominate beyond

/// A handshake also waits until the receiver's library looks at it. No closed form knows this time:
/// on the emulated cluster eager segments win where they should lose 3 %.
constexpr double kEagerAdvantage = 1.05;

Seconds time(const Problem& problem, Count per_rank, const Network& network) {
  Plan plan;
  plan.problem = problem;
  plan.table = even_starts(problem.ranks, per_rank * problem.ranks);
  return hockney_time(problem, ring_walk_cost(plan), network);
}

/// The number of segments with the least time; that of eager segments where long messages need a
/// handshake, if these do not cost much more.
Count best_per_rank(const Problem& problem, const Network& network) {
  const Count block = (problem.bytes() + problem.ranks - 1) / problem.ranks;
  const auto time_of = [&](Count parts) { return time(problem, parts, network); };
  const Count best = best_segments(kMostPerRank, time_of);
  const auto eager = [&](Count parts) { return block <= parts * network.eager_limit; };
  if (network.handshake <= 0 || eager(best)) return best;
  for (const Count most : {network.eager_limit / 2, network.eager_limit / 8 * 7}) {
    const Count parts = most == 0 ? 1 : std::min(kMostPerRank, (block + most - 1) / most);
    if (eager(parts) && time_of(parts) <= kEagerAdvantage * time_of(best)) return parts;
  }
  return best;
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  if (!plan.parameters.contains("segments")) {
    plan.parameters["segments"] = problem.ranks * best_per_rank(problem, knowledge.network);
  }
  plan.order = order_by_arrival(problem.ranks, {});
  plan.table = even_starts(problem.ranks, plan.parameters.at("segments"));
}

}  // namespace

LATECOMER_ROW(allreduce, segmented_ring) {
  return {.commutative_only = true,
          .parameters = {{"segments", "in all; default: by the cost", 1, {}}},
          .cost_formula = "2S(P-1)/P alpha + 2(P-1)/P m beta + m/S gamma",
          .source = "segmented ring of Open MPI; segment count as in Proficz 2018",
          .fill_plan = fill_plan,
          .build = build_ring_walk,
          .check = check_ring_walk,
          .cost = ring_walk_cost};
}

}  // namespace latecomer::allreduce
