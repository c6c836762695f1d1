// The simulated machines that ranks are placed on.
#pragma once

#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "schedule/placement.hpp"

namespace latecomer {

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

}  // namespace latecomer
