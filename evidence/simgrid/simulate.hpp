// Runs one call of all ranks as SimGrid actors, once in a process, on simulated machines.
#pragma once

#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "schedule/placement.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {

// The simulated machines that ranks are placed on.

class SimGridPlatform {
 public:
  /// Reads SimGrid's XML file, once in a process. Throws Error with SimGrid's own words.
  SimGridPlatform(simgrid::s4u::Engine& engine, const std::string& file);

  /// Rank r on the (r / per_node)-th host, counted as the file lists them. Throws Error if there
  /// are too few hosts.
  [[nodiscard]] std::vector<simgrid::s4u::Host*> place(Rank ranks, Rank per_node) const;
  /// The ranks of node n on the n-th host. Throws Error if there are too few hosts.
  [[nodiscard]] std::vector<simgrid::s4u::Host*> place(const Placement& placement) const;

 private:
  std::string file_;
  std::vector<simgrid::s4u::Host*> hosts_;
};

/// One actor for each rank on its host. Of the network only gamma and the eager limit are used:
/// the rest is the platform's; nothing is traced. Times are good to SimGrid's 1 ns. Throws Error if
/// the arrivals do not fit the ranks. A rank that gets stuck or loses its network is no
/// exception but a result.
[[nodiscard]] Simulation simulate_on_simgrid(const simgrid::s4u::Engine& simgrid,
                                             const std::vector<simgrid::s4u::Host*>& hosts,
                                             const Executors& executors,
                                             const SimulationOptions& options);

}  // namespace latecomer
