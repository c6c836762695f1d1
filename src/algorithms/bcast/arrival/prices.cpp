#include "algorithms/bcast/arrival/prices.hpp"

#include <algorithm>

#include "algorithms/after_last.hpp"
#include "algorithms/bcast/arrival/arrival_clock.hpp"
#include "algorithms/bcast/arrival/estimate.hpp"
#include "base/partition.hpp"

namespace latecomer::bcast {
namespace {

/// Segments on their way from one rank to another that are played one by one, which takes about a
/// microsecond each; of more the exits are estimated.
constexpr Count kMostPlayed = 4096;

std::vector<Seconds> exits(const Plan& plan, const Network& network,
                           const std::vector<Seconds>& arrivals) {
  const Feeding feeding = feeding_of(plan);
  const Partition segments(plan.problem.count, plan.parameters.at("segments"));
  const Count bytes = segments.longest() * plan.problem.element_bytes;
  if (feeding.ranks * feeding.segments > kMostPlayed) {
    return estimated_exits(network, bytes, feeding, arrivals);
  }
  ArrivalClock clock(network, bytes, feeding, arrivals);
  clock.run();
  std::vector<Seconds> all;
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) all.push_back(clock.exit(rank));
  return all;
}

}  // namespace

Feeding feeding_of(const Plan& plan) {
  const Problem& problem = plan.problem;
  return {problem.ranks, problem.root, std::min(plan.parameters.at("segments"), problem.count),
          plan.algorithm == kAhead ? kAnnounced : 0};
}

Seconds arrival_time(const Plan& plan, const Network& network) {
  const std::vector<Seconds> together(static_cast<std::size_t>(plan.problem.ranks), 0);
  return std::ranges::max(exits(plan, network, together));
}

Seconds arrival_after_last(const Plan& plan, const Network& network,
                           const std::vector<Seconds>& arrivals) {
  return mean_exit_after_last(exits(plan, network, arrivals), arrivals);
}

}  // namespace latecomer::bcast
