// What every simulation begins and ends with, whatever network it runs on.
#pragma once

#include <memory>
#include <vector>

#include "simulate/simulate.hpp"

namespace latecomer {

/// Of all ranks, in one call.
using Protocols = std::vector<std::unique_ptr<Protocol>>;

/// Arrivals filled in, nobody has left yet. Throws Error if the arrivals do not fit the ranks.
[[nodiscard]] Simulation begin_simulation(std::size_t ranks, const SimulationOptions& options);

/// Notes the first rank that failed or is stuck, unless a failure was noted already.
void note_failures(const Protocols& protocols, Simulation& result);

}  // namespace latecomer
