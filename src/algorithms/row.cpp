#include "algorithms/row.hpp"

#include <algorithm>
#include <numeric>

namespace latecomer {

Seconds hockney_time(const Problem& problem, const Cost& cost, const Network& network) {
  if (cost.rounds == 0) return 0;
  const auto rounds = static_cast<double>(cost.rounds);
  const auto bytes = [&](Count elements) {
    return static_cast<double>(elements * problem.element_bytes);
  };
  Seconds time = rounds * network.alpha + network.beta * bytes(cost.sent) +
                 network.gamma * bytes(cost.combined);
  const bool eager = bytes(cost.sent) / rounds <= static_cast<double>(network.eager_limit);
  if (eager && !cost.paced) return time;
  time += rounds * network.handshake;
  if (eager || cost.exchanged == 0) return time;
  const double both_ways = bytes(cost.exchanged) / bytes(cost.sent);
  return time + (network.exchange - 1) *
                    (network.beta * bytes(cost.exchanged) + both_ways * rounds * network.alpha);
}

Seconds mean_exit_after_last(const std::vector<Seconds>& exits,
                             const std::vector<Seconds>& arrivals) {
  const Seconds sum = std::accumulate(exits.begin(), exits.end(), Seconds{0});
  return sum / static_cast<Seconds>(exits.size()) - std::ranges::max(arrivals);
}

}  // namespace latecomer
