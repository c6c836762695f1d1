// Pre-reduced ring (PRR): the ring sorted by arrival, where the early ranks reduce among themselves
// until the last one arrives ("pre-steps"): segments start further back on the ring, and the late
// rank, last on it, finds them reduced when it arrives.
//
// The paper's listing is lost; this is the reconstruction from its text: a segment that crosses the
// hop into the last position in step j after the last arrival starts as far back as the ranks
// before had time to pass it on. With S segments, P groups of S/P segments do so, so that equal
// arrivals give exactly the (segmented) ring.
//
// Cost: 2(P-1) alpha + 2(P-1)/P m beta at zero delay, as the ring; with a late rank the ranks exit
// about 1.5 m beta after it on average, the last one still 2 m beta. Use it for one late rank.
// Source: Proficz: Improving all-reduce collective operations for imbalanced process arrival
// patterns, J. Supercomput. 74 (2018), section 4.2.
#include <algorithm>
#include <cmath>

#include "algorithms/allreduce/ring.hpp"
#include "algorithms/row.hpp"
#include "base/partition.hpp"

namespace latecomer::allreduce {
namespace {

/// Arrivals by position, in steps after the first.
std::vector<double> steps_late(const Plan& plan, const Knowledge& knowledge, Seconds step) {
  std::vector<double> late(plan.order.size(), 0.0);
  if (knowledge.arrivals.empty() || step <= 0) return late;
  const auto arrival = [&](Rank rank) { return knowledge.arrivals[rank]; };
  for (std::size_t i = 0; i < late.size(); ++i) {
    late[i] = (arrival(plan.order[i]) - arrival(plan.order.front())) / step;
  }
  return late;
}

/// The number of segments that start at each position. A group crosses into the last position some
/// steps after the first arrival. It starts as far back as both ranks of every hop have arrived in
/// time; a later group starts at the same position or further back.
std::vector<Count> prereduced_starts(const std::vector<double>& late, Count segments) {
  const Rank last = static_cast<Rank>(late.size()) - 1;
  const Partition groups(segments, last + 1);
  std::vector<Count> starts(late.size(), 0);
  Rank start = last - 1;
  for (Rank j = 0; j < last; ++j) {
    const double step = std::floor(late.back()) + j;
    while (start > 0 && step - (last - start) >= std::ceil(late[start])) --start;
    starts[start] += groups.range(j).count;
  }
  starts.back() += groups.range(last).count;  // the late rank's own raw group
  return starts;
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const Network& network = knowledge.network;
  const Count segments = plan.parameters.try_emplace("segments", problem.ranks).first->second;
  plan.order = order_by_arrival(problem.ranks, knowledge.arrivals);
  const Count group = problem.bytes() / problem.ranks;
  const double per_group = static_cast<double>(segments) / static_cast<double>(problem.ranks);
  const Seconds step = std::max(1.0, per_group) * network.alpha +
                       (network.beta + network.gamma) * static_cast<double>(group);
  plan.table = prereduced_starts(steps_late(plan, knowledge, step), segments);
}

}  // namespace

LATECOMER_ROW(allreduce, prereduced_ring) {
  return {.arrival_aware = true,
          .commutative_only = true,
          .parameters = {{"segments", "in all; default: P, as in the paper", 1, {}}},
          .cost_formula = "2(P-1) alpha + 2(P-1)/P m beta + (P-1)/P m gamma at zero delay",
          .source = "Proficz 2018, section 4.2 (PRR)",
          .fill_plan = fill_plan,
          .build = build_ring_walk,
          .check = check_ring_walk,
          .cost = ring_walk_cost,
          .mean_after_last = ring_walk_mean_after_last};
}

}  // namespace latecomer::allreduce
