// The command line of latecomer_simgrid.
#pragma once

#include <string>
#include <vector>

#include "base/network.hpp"
#include "schedule/placement.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

struct SimGridCommand {
  bool help = false;
  bool version = false;
  std::string platform;  // file
  std::string schedule;  // file; empty: the algorithm's
  std::string algorithm;
  Problem problem;
  std::vector<Seconds> arrivals;  // one a rank; empty: all at 0
  std::vector<Seconds> estimate;  // of the plan; empty: the arrivals
  Network network;                // planned for; gamma and the eager limit are simulated, too
  Rank per_node = 1;
  Placement plan_placement;  // of a schedule
  std::string placement;     // a node for each rank; empty: per_node consecutive ones
  bool check = false;
  std::uint64_t seed = 1;
};

extern const char* const kSimGridUsage;

/// Throws Error naming the argument, or the file, that cannot be read.
[[nodiscard]] SimGridCommand parse_simgrid_command(int argc, const char* const* argv);

/// The whole text of a file. Throws Error naming `what` and the file.
[[nodiscard]] std::string read_file(const std::string& what, const std::string& file);

}  // namespace latecomer
