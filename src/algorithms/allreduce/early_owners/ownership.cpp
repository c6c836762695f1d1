#include "algorithms/allreduce/early_owners/ownership.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace latecomer::allreduce {
namespace {

/// The level L with sum max(0, L - arrival) = volume.
double water_level(std::vector<double> arrivals, double volume) {
  std::ranges::sort(arrivals);
  double sum = 0;
  double level = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    sum += arrivals[i];
    level = (volume + sum) / static_cast<double>(i + 1);
    if (i + 1 < arrivals.size() && level <= arrivals[i + 1]) break;
  }
  return level;
}

/// What each rank can own, in rounds.
std::vector<double> capacities(const std::vector<Count>& arrivals, Count blocks) {
  const Count last = std::ranges::max(arrivals);
  std::vector<double> times;
  for (const Count arrival : arrivals) {
    times.push_back(static_cast<double>(std::max(arrival, last - blocks / 2)));
  }
  const auto others = static_cast<double>(std::max<std::size_t>(2, arrivals.size()) - 1);
  const double level = water_level(times, static_cast<double>(blocks) * others);
  for (double& time : times) time = std::max(0.0, level - time);
  return times;
}

}  // namespace

std::vector<Rank> share_out(const std::vector<Count>& arrivals, Count blocks) {
  const std::vector<double> capacity = capacities(arrivals, blocks);
  // Each owner has its turn at equal distances, the wider the less it can own.
  std::vector<double> next;
  for (const double each : capacity) {
    next.push_back(each > 0 ? 0.5 / each : std::numeric_limits<double>::infinity());
  }
  std::vector<Rank> owners;
  for (Count block = 0; block < blocks; ++block) {
    const auto owner = static_cast<std::size_t>(std::ranges::min_element(next) - next.begin());
    owners.push_back(static_cast<Rank>(owner));
    next[owner] += 1 / capacity[owner];
  }
  return owners;
}

}  // namespace latecomer::allreduce
