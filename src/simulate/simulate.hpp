// Runs one call of all ranks, programs or other protocols, over a virtual-time network: alpha,
// beta, gamma, ports that send and receive at the same time, eager and rendezvous transfers, late
// ranks and seeded jitter. Deterministic: time is counted in whole picoseconds, and events at the
// same time are ordered by rank and program.
#pragma once

#include <span>

#include "engine/engine.hpp"
#include "simulate/simulation.hpp"

namespace latecomer {

/// Throws Error if the arrivals do not fit the ranks, for arrivals, messages and combining of more
/// than 1e6 seconds, and where the call does not end within 8e6 seconds. A rank that gets stuck is
/// no exception but a result.
[[nodiscard]] Simulation simulate(const Executors& executors, const SimulationOptions& options);
/// Simulates programs.
[[nodiscard]] Simulation simulate(std::span<const Program> programs,
                                  const SimulationOptions& options);

}  // namespace latecomer
