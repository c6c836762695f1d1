// What every simulation begins and ends with, whatever network it runs on.
#pragma once

#include <deque>

#include "simulate/simulate.hpp"

namespace latecomer {

/// Arrivals filled in, nobody has left yet. Throws Error if the arrivals do not fit the ranks.
[[nodiscard]] Simulation begin_simulation(std::size_t ranks, const SimulationOptions& options);

/// Notes the first rank that failed or is stuck, unless a failure was noted already.
void note_failures(const std::deque<Engine>& engines, Simulation& result);

}  // namespace latecomer
