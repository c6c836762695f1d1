#include "simulate/outcome.hpp"

#include "base/error.hpp"

namespace latecomer {

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

void note_failures(const std::deque<Engine>& engines, Simulation& result) {
  for (std::size_t rank = 0; rank < engines.size() && result.failure.empty(); ++rank) {
    const Engine& engine = engines[rank];
    if (engine.status() == Status::done) continue;
    const std::string why = engine.status() == Status::failed
                                ? engine.failure()
                                : "stuck, waits " + engine.waiting_for();
    result.failure = "rank " + std::to_string(rank) + ": " + why;
  }
}

}  // namespace latecomer
