#include "simulate/simulate.hpp"

#include <algorithm>
#include <numeric>

#include "simulate/outcome.hpp"
#include "simulate/virtual_network.hpp"

namespace latecomer {

Seconds Simulation::last_exit() const { return *std::max_element(exits.begin(), exits.end()); }

Seconds Simulation::mean_elapsed() const {
  const Seconds in = std::accumulate(arrivals.begin(), arrivals.end(), 0.0);
  const Seconds out = std::accumulate(exits.begin(), exits.end(), 0.0);
  return (out - in) / static_cast<double>(exits.size());
}

Simulation simulate(std::span<const Program> programs, const SimulationOptions& options) {
  const std::size_t ranks = programs.size();
  Simulation result = begin_simulation(ranks, options);
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
