#include "simulate/simulate.hpp"

#include "base/threads.hpp"
#include "simulate/virtual_network.hpp"

namespace latecomer {

Simulation simulate(const Executors& executors, const SimulationOptions& options) {
  Simulation result = begin_simulation(executors.size(), options);
  Placement nodes;
  for (const auto& executor : executors) nodes.push_back(memory_node(executor->context()));
  VirtualNetwork network(options, numbered(nodes));
  Protocols protocols;
  for (std::size_t rank = 0; rank < executors.size(); ++rank) {
    interruption_point();
    const auto me = static_cast<Rank>(rank);
    protocols.push_back(executors[rank]->create_protocol(network.transport(me), options.engine));
    network.attach(me, *protocols.back(), executors[rank]->context().plan_hash);
  }
  network.run(result);
  note_failures(protocols, result);
  return result;
}

Simulation simulate(std::span<const Program> programs, const SimulationOptions& options) {
  return simulate(executors_of(programs, options.network.eager_elements(options.element_bytes)),
                  options);
}

}  // namespace latecomer
