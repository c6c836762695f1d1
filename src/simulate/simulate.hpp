// Runs one call of all ranks, programs or other protocols, over a virtual-time network: alpha,
// beta, gamma, ports that send and receive at the same time, eager and rendezvous transfers, late
// ranks and seeded jitter. Deterministic: time is counted in whole picoseconds, and events at the
// same time are ordered by rank and program.
#pragma once

#include <span>
#include <vector>

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

/// The ranks' operations in a call on the virtual network, as programs: for protocols, which decide
/// while they run, so that the verifier can check what they decided.
///
/// A recorded operation waits for those that had ended when its rank posted it. So the programs say
/// what was ordered in this call, and not what always would be.
struct RecordedCall {
  Simulation simulation;
  std::vector<Program> programs;  // by rank; without the control messages
};

/// Simulates a call and records it. Throws as simulate().
[[nodiscard]] RecordedCall simulate_recorded(const Executors& executors,
                                             const SimulationOptions& options);

}  // namespace latecomer
