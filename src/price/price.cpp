#include "price/price.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "executors/make_executor.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

constexpr Seconds kLongest = 1e5;  // in a replay: nobody expects a rank to be later

/// The seconds that a burst saves the plan's links, which are rested.
Seconds saved(const Plan& plan, const Network& network) {
  return network.saved(cost_of(plan).sent * plan.problem.element_bytes);
}

bool replayable(const Plan& plan, const Network& network) {
  return plan.problem.ranks <= kMaxReplayedRanks &&
         plan.problem.ranks * cost_of(plan).rounds <= kMaxReplayed &&
         balanced_time(plan, network) < kLongest;
}

std::vector<Seconds> since_first(const std::vector<Seconds>& arrivals) {
  const Seconds first = std::ranges::min(arrivals);
  std::vector<Seconds> since;
  for (const Seconds arrival : arrivals) since.push_back(std::min(arrival - first, kLongest));
  return since;
}

}  // namespace

Seconds balanced_time(const Plan& plan, const Network& network) {
  return hockney_time(plan.problem, cost_of(plan), network) - saved(plan, network);
}

bool may_pay(const Algorithm& row, const Problem& problem, const Network& network) {
  const bool priced = !row.arrival_aware || row.mean_after_last != nullptr || row.name == "auto" ||
                      problem.ranks <= kMaxReplayedRanks;
  const bool worth = row.worth_planning == nullptr || row.worth_planning(problem, network);
  return priced && worth && accepts(row, problem, nullptr);
}

std::vector<Seconds> replay(const Plan& plan, const Network& network,
                            const std::vector<Seconds>& arrivals) {
  SimulationOptions options;
  options.network = network;
  options.element_bytes = plan.problem.element_bytes;
  options.arrivals = since_first(arrivals);
  std::vector<Seconds> exits = simulate(make_executors(plan, network), options).exits;
  for (Seconds& exit : exits) {
    if (exit < 0) exit = std::numeric_limits<Seconds>::infinity();
  }
  return exits;
}

/// A message takes the longer the more pairs of ranks there are.
Seconds replay_cost(const Plan& plan) {
  constexpr Seconds kMessage = 1.2e-6;
  const double ranks = plan.problem.ranks;
  return kMessage * (1 + ranks / 64) * ranks * static_cast<double>(1 + cost_of(plan).rounds);
}

Seconds mean_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& arrivals) {
  const Algorithm& row = find_algorithm(plan.problem.collective, plan.algorithm);
  if (plan.problem.ranks == 1 || arrivals.empty()) return balanced_time(plan, network);
  if (row.mean_after_last != nullptr) {
    return row.mean_after_last(plan, network, arrivals) - saved(plan, network);
  }
  if (!replayable(plan, network)) return balanced_time(plan, network);
  const std::vector<Seconds> since = since_first(arrivals);
  return mean_exit_after_last(replay(plan, network, since), since);
}

}  // namespace latecomer
