#include "arrival/bound.hpp"

#include <algorithm>

namespace latecomer {
namespace {

/// The volume bound on the last exit, looking from time `t` on.
Seconds volume_bound(const std::vector<Seconds>& arrivals, Seconds t, Seconds transfer) {
  const auto ranks = static_cast<double>(arrivals.size());
  Seconds ready = 0;
  double late = 0;
  for (const Seconds arrival : arrivals) {
    ready += std::max(arrival, t);
    if (arrival >= t) ++late;
  }
  const double vectors = ranks - 1 + late - (late == ranks ? 1 : 0);
  return (ready + vectors * transfer) / ranks;
}

double ceil_log2(Rank ranks) {
  double log = 0;
  for (Rank reached = 1; reached < ranks; reached *= 2) ++log;
  return log;
}

}  // namespace

Seconds least_after_last(const Problem& problem, const std::vector<Seconds>& arrivals,
                         const Network& network) {
  if (problem.ranks == 1 || problem.count == 0) return 0;
  const auto ranks = static_cast<std::size_t>(problem.ranks);
  const std::vector<Seconds> times = arrivals.empty() ? std::vector<Seconds>(ranks) : arrivals;
  const Seconds transfer =
      network.beta * static_cast<double>(problem.bytes()) / static_cast<double>(network.ports);
  const Seconds last = *std::max_element(times.begin(), times.end());
  Seconds least = std::max(network.alpha + transfer, ceil_log2(problem.ranks) * network.alpha);
  for (const Seconds t : times) least = std::max(least, volume_bound(times, t, transfer) - last);
  return least;
}

}  // namespace latecomer
