// Segmented ring: the ring with S/P segments to each rank's block, so that combining a segment
// overlaps with moving the next one, and segments can be short enough to be sent eagerly.
//
// Cost: 2S(P-1)/P alpha + 2(P-1)/P m beta + m/S gamma beyond what transfers hide. Use it for long
// vectors and balanced arrivals. By default S is what takes the least time: a ring's P where
// start-ups outweigh combining; where long messages need a handshake, eager segments if they do not
// cost much more.
// Source: Open MPI's segmented ring (Graham, Woodall, Squyres 2005) in idea; Proficz 2018 for S.
#include <algorithm>
#include <cmath>

#include "algorithms/allreduce/ring_walk.hpp"
#include "algorithms/allreduce/rows.hpp"
#include "patterns/partition.hpp"

namespace latecomer::allreduce {
namespace {

constexpr Count kMostPerRank = 64;  // start-ups would dominate beyond

/// A handshake also waits until the receiver's library looks at it, which no closed form knows: on
/// the emulated cluster eager segments win where they should lose 3 %.
constexpr double kEagerAdvantage = 1.05;

/// How many segments to a rank are best.
class Segments {
 public:
  Segments(const Problem& problem, const Network& network)
      : problem_(problem),
        network_(network),
        block_bytes_((problem.bytes() + problem.ranks - 1) / problem.ranks) {}

  [[nodiscard]] Count best() const {
    Count best = 1;
    for (const Count more : {lemma(), lemma() + 1}) {
      if (time(more) < time(best)) best = more;
    }
    if (network_.handshake <= 0 || eager(best)) return best;
    for (const Count most : {network_.eager_limit / 2, network_.eager_limit / 8 * 7}) {
      const Count parts = limited(most == 0 ? 1 : (block_bytes_ + most - 1) / most);
      if (eager(parts) && time(parts) <= kEagerAdvantage * time(best)) return parts;
    }
    return best;
  }

 private:
  static Count limited(Count parts) { return std::clamp<Count>(parts, 1, kMostPerRank); }
  [[nodiscard]] bool eager(Count parts) const {
    return block_bytes_ <= parts * network_.eager_limit;
  }
  /// Balances the start-ups of more segments with what is combined after the last transfer.
  [[nodiscard]] Count lemma() const {
    const double starts = 2 * (problem_.ranks - 1) * std::max(network_.alpha, 1e-9);
    return limited(static_cast<Count>(std::sqrt(network_.combining(block_bytes_) / starts)));
  }
  [[nodiscard]] Seconds time(Count parts) const {
    Plan plan;
    plan.problem = problem_;
    plan.table = even_starts(problem_.ranks, parts * problem_.ranks);
    return ring_walk_time(plan, network_);
  }

  const Problem& problem_;
  const Network& network_;
  Count block_bytes_;
};

void complete(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const Segments segments(problem, knowledge.network);
  if (!plan.parameters.contains("segments")) {
    plan.parameters["segments"] = problem.ranks * segments.best();
  }
  plan.order = order_by_arrival(problem.ranks, {});
  plan.table = even_starts(problem.ranks, plan.parameters.at("segments"));
}

}  // namespace

Algorithm segmented_ring() {
  return {.name = "segmented_ring",
          .collective = Collective::allreduce,
          .kind = Kind::program,
          .arrival_aware = false,
          .commutative_only = true,
          .scratch_messages = 1,
          .parameters = {{"segments", "in all; default: by the cost", 1, {}}},
          .cost_formula = "2S(P-1)/P alpha + 2(P-1)/P m beta + m/S gamma",
          .source = "segmented ring of Open MPI; segment count as in Proficz 2018",
          .complete = complete,
          .build = build_ring_walk,
          .cost = ring_walk_cost,
          .time = ring_walk_time};
}

}  // namespace latecomer::allreduce
