#include "simulate/simulate.hpp"

#include <algorithm>
#include <numeric>

#include "base/interruption.hpp"
#include "simulate/outcome.hpp"
#include "simulate/virtual_network.hpp"

namespace latecomer {

Seconds Simulation::last_exit() const { return *std::max_element(exits.begin(), exits.end()); }

Seconds Simulation::mean_elapsed() const {
  const Seconds in = std::accumulate(arrivals.begin(), arrivals.end(), 0.0);
  const Seconds out = std::accumulate(exits.begin(), exits.end(), 0.0);
  return (out - in) / static_cast<double>(exits.size());
}

Simulation simulate(const Parties& parties, const SimulationOptions& options) {
  Simulation result = begin_simulation(parties.size(), options);
  VirtualNetwork network(options, static_cast<Rank>(parties.size()));
  Protocols protocols;
  for (std::size_t rank = 0; rank < parties.size(); ++rank) {
    interruption_point();
    const auto me = static_cast<Rank>(rank);
    protocols.push_back(parties[rank]->join(network.transport(me), options.engine));
    network.attach(me, *protocols.back());
  }
  network.run(result);
  note_failures(protocols, result);
  return result;
}

Simulation simulate(std::span<const Program> programs, const SimulationOptions& options) {
  return simulate(parties_of(programs, options.network.eager_elements(options.element_bytes)),
                  options);
}

}  // namespace latecomer
