// Runs one call of all ranks as SimGrid actors, once in a process.
#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

#include "simulate/simulate.hpp"

namespace latecomer {

/// One actor for each rank on its host. Of the network only gamma and the eager limit are used:
/// the rest is the platform's; nothing is traced. Times are good to SimGrid's 1 ns. Throws Error if
/// the arrivals do not fit the ranks. A rank that gets stuck or loses its network is no
/// exception but a result.
[[nodiscard]] Simulation simulate_on_simgrid(const simgrid::s4u::Engine& simgrid,
                                             const std::vector<simgrid::s4u::Host*>& hosts,
                                             const Executors& executors,
                                             const SimulationOptions& options);

}  // namespace latecomer
