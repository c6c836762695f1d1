// The calls of all ranks of a job, in a few numbers.
//
// Waiting is the time from a rank's arrival in a call to the last rank's, moving the time from then
// to the rank's exit. Both are known of calls whose arrivals all ranks know. Of the other calls
// with the same key the same part counts as waiting. Where no arrivals are known, ranks are
// compared: of a collective that all ranks wait in, the rank that was inside for the shortest time
// is taken not to have waited.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/report/savings.hpp"
#include "schedule/problem.hpp"

namespace latecomer {

/// The calls of one rank, on all its communicators.
struct RankTotals {
  latecomer_stats calls{};
  std::uint64_t told = 0;  // calls whose arrivals are known
  Seconds waiting = 0;     // of calls whose arrivals are known, or of keys with such
  Seconds moving = 0;      // calls
  std::array<Seconds, kCollectives> unknown{};  // time inside all others, by collective
  SavedTime saved;
  std::vector<std::uint64_t> last;  // by rank of MPI_COMM_WORLD: calls in which it came last
};

/// Adds the calls of one key.
void add_key(RankTotals& totals, const latecomer_key_stats& key);

/// The whole job; seconds are means over its ranks.
struct JobSummary {
  Rank ranks = 1;
  Seconds elapsed = 0;  // from MPI_Init to MPI_Finalize
  Seconds waiting = 0;
  Seconds moving = 0;
  Seconds saved = 0;                // by handled calls, as estimated; negative: lost
  Seconds saved_range = 0;          // the estimate may be off by so much either way; -1: unknown
  std::uint64_t estimated = 0;      // handled calls of all ranks that the estimate is about
  latecomer_stats calls{};          // of all ranks
  std::uint64_t least_handled = 0;  // on one rank
  std::uint64_t short_calls = 0;    // of all ranks, left to the MPI library at once
  std::uint64_t nonblocking = 0;    // of all ranks: non-blocking collectives, and ...
  std::uint64_t persistent = 0;     // ... requests for persistent ones, all the MPI library's
  std::uint64_t told = 0;           // calls whose arrivals are known, each counted once
  std::uint64_t last_calls = 0;     // those of them in which `last_rank` came last
  Rank last_rank = -1;              // that came last most often; -1: unknown
  std::string last_host;
};

/// Two or three sentences.
[[nodiscard]] std::string describe(const JobSummary& job);
[[nodiscard]] std::string json(const JobSummary& job);

}  // namespace latecomer
