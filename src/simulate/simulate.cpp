#include "simulate/simulate.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/error.hpp"
#include "simulate/virtual_network.hpp"

namespace latecomer {
namespace {

void note_failures(const std::deque<Engine>& engines, Simulation& result) {
  for (std::size_t rank = 0; rank < engines.size(); ++rank) {
    const Engine& engine = engines[rank];
    if (engine.status() == Status::done) continue;
    const std::string why = engine.status() == Status::failed
                                ? engine.failure()
                                : "stuck, waits " + engine.waiting_for();
    result.failure = "rank " + std::to_string(rank) + ": " + why;
    return;
  }
}

}  // namespace

Seconds Simulation::last_exit() const { return *std::max_element(exits.begin(), exits.end()); }

Seconds Simulation::mean_elapsed() const {
  const Seconds in = std::accumulate(arrivals.begin(), arrivals.end(), 0.0);
  const Seconds out = std::accumulate(exits.begin(), exits.end(), 0.0);
  return (out - in) / static_cast<double>(exits.size());
}

Simulation simulate(std::span<const Program> programs, const SimulationOptions& options) {
  const std::size_t ranks = programs.size();
  Simulation result;
  result.arrivals = options.arrivals.empty() ? std::vector<Seconds>(ranks, 0.0) : options.arrivals;
  if (result.arrivals.size() != ranks) {
    throw Error("arrivals", std::to_string(result.arrivals.size()) + " times",
                "one time for each of " + std::to_string(ranks) + " ranks");
  }
  result.exits.assign(ranks, -1);
  VirtualNetwork network(options, static_cast<Rank>(ranks));
  std::deque<Engine> engines;
  EngineOptions engine = options.engine;
  engine.eager = options.network.eager_elements(options.element_bytes);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto me = static_cast<Rank>(rank);
    engines.emplace_back(programs[rank], network.transport(me), engine);
    network.attach(me, engines.back());
  }
  network.run(result);
  note_failures(engines, result);
  return result;
}

}  // namespace latecomer
