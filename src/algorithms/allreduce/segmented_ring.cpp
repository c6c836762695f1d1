// Segmented ring: the ring with S/P segments to each rank's block, so that combining a segment
// overlaps with moving the next one and segments are short enough to be sent eagerly.
//
// Cost: 2S(P-1)/P alpha + 2(P-1)/P m beta + m/S gamma beyond what transfers hide. Use it for long
// vectors and balanced arrivals, with segments below the transport's eager limit.
// Source: Open MPI's segmented ring (Graham, Woodall, Squyres 2005) in idea; Proficz 2018 for S.
#include <algorithm>

#include "algorithms/allreduce/ring_walk.hpp"
#include "algorithms/allreduce/rows.hpp"
#include "patterns/partition.hpp"

namespace latecomer::allreduce {
namespace {

constexpr Count kMostPerRank = 64;  // start-ups would dominate beyond

Count default_segments(const Problem& problem, const Network& network) {
  const Count per_rank = eager_parts(problem.bytes() / problem.ranks, network);
  return problem.ranks * std::min(per_rank, kMostPerRank);
}

void complete(Plan& plan, const Knowledge& knowledge) {
  plan.parameters.try_emplace("segments", default_segments(plan.problem, knowledge.network));
  plan.order = order_by_arrival(plan.problem.ranks, {});
  plan.table = even_starts(plan.problem.ranks, plan.parameters.at("segments"));
}

}  // namespace

Algorithm segmented_ring() {
  return {.name = "segmented_ring",
          .collective = Collective::allreduce,
          .kind = Kind::program,
          .arrival_aware = false,
          .commutative_only = true,
          .scratch_messages = 1,
          .parameters =
              {{"segments", "in all; default: the fewest per rank that are sent eagerly", 1, {}}},
          .cost_formula = "2S(P-1)/P alpha + 2(P-1)/P m beta + m/S gamma",
          .source = "segmented ring of Open MPI; segment count as in Proficz 2018",
          .complete = complete,
          .build = build_ring_walk,
          .cost = ring_walk_cost,
          .time = ring_walk_time};
}

}  // namespace latecomer::allreduce
