// Statistics as texts: one for people, one for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/report/job_summary.hpp"

namespace latecomer {

/// The statistics of one communicator on this rank.
struct CommStats {
  std::string name;  // "" if it has none
  Rank rank;
  Rank ranks;
  latecomer_stats calls;
  std::vector<latecomer_key_stats> keys;
  std::vector<latecomer_site_stats> sites;
};

/// The statistics of one process.
struct ProcessStats {
  Rank rank = 0;  // in MPI_COMM_WORLD
  Rank ranks = 1;
  std::vector<CommStats> communicators;
  std::uint64_t further_communicators = 0;  // freed, and only counted
  latecomer_stats further_calls{};
  Seconds slept = 0;              // while waiting
  std::optional<JobSummary> job;  // of a drop-in library
};

[[nodiscard]] std::string stats_text(const ProcessStats& stats);
[[nodiscard]] std::string stats_json(const ProcessStats& stats);

/// "app(main+0x33) [app+0x1173]": module and function, as far as the dynamic linker knows.
[[nodiscard]] std::string name_of_site(const void* address);

}  // namespace latecomer
