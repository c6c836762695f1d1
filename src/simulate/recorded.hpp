// What the ranks of a call did on the virtual network, as programs: for protocols, which decide
// while they run, so that the verifier can check what they decided.
//
// A recorded operation waits for those that had ended when its rank posted it. So the programs say
// what was ordered in this call, and not what always would be.
#pragma once

#include <vector>

#include "simulate/simulation.hpp"

namespace latecomer {

struct RecordedCall {
  Simulation simulation;
  std::vector<Program> programs;  // by rank; without the control messages
};

/// Simulates a call and records it. Throws as simulate().
[[nodiscard]] RecordedCall simulate_recorded(const Executors& executors,
                                             const SimulationOptions& options);

}  // namespace latecomer
