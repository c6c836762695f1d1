#include "simulate/simulation.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace latecomer {

Seconds Simulation::last_exit() const { return *std::max_element(exits.begin(), exits.end()); }

Seconds Simulation::mean_elapsed() const {
  const Seconds in = std::accumulate(arrivals.begin(), arrivals.end(), 0.0);
  const Seconds out = std::accumulate(exits.begin(), exits.end(), 0.0);
  return (out - in) / static_cast<double>(exits.size());
}

Simulation begin_simulation(std::size_t ranks, const SimulationOptions& options) {
  Simulation result;
  result.arrivals = options.arrivals.empty() ? std::vector<Seconds>(ranks, 0.0) : options.arrivals;
  if (result.arrivals.size() != ranks) {
    throw Error("arrivals", std::to_string(result.arrivals.size()) + " times",
                "one time for each of " + std::to_string(ranks) + " ranks");
  }
  result.exits.assign(ranks, -1);
  return result;
}

void note_failures(const Protocols& protocols, Simulation& result) {
  for (std::size_t rank = 0; rank < protocols.size() && result.failure.empty(); ++rank) {
    const Protocol& protocol = *protocols[rank];
    if (protocol.status() == Status::done) continue;
    const std::string why = protocol.status() == Status::failed
                                ? protocol.failure()
                                : "stuck, waits " + protocol.waiting_for();
    result.failure = "rank " + std::to_string(rank) + ": " + why;
  }
}

}  // namespace latecomer
