// The calls of all ranks of a job, in a few numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/report/statistics.hpp"
#include "trace/records.hpp"

namespace latecomer {

/// The calls of one rank, on all its communicators.
struct RankTotals {
  latecomer_stats calls{};
  SavedTime saved;
};

/// Calls of one place in the program, alike in collective and size.
struct WaitingPlace {
  std::string collective;
  std::string site;         // "" if it is not known
  std::int64_t bytes = -1;  // of the whole vector; -1: not known
  Seconds waiting = 0;      // sum over calls and ranks
  Seconds cost = 0;         // that the others waited for JobWaits::costliest
  double calls = 0;         // in which it took part
  double last = 0;          // of them, in which it came last
  Seconds lateness = 0;     // its own, in their sum
};

/// Who waited for whom; seconds are sums over the calls (runtime/report/job_summary.hpp).
struct JobWaits {
  std::vector<Seconds> waiting;  // by rank of MPI_COMM_WORLD
  std::vector<Seconds> moving;
  std::vector<Seconds> cost;
  std::vector<double> last;     // calls in which a rank came last
  std::vector<double> squares;  // of its cost in each call
  std::uint64_t calls = 0;      // whose arrivals are known, each counted once
  std::uint64_t all_calls = 0;  // of the same communicators: those are a sample if it is more
  std::uint64_t unmatched = 0;  // calls of all ranks that not all others are known to have made
  Seconds skipped = -1;         // waiting in the first call, which is left out; -1: it is not
  Rank costliest = -1;          // for whom the others waited most; -1: nobody waited
  std::vector<WaitingPlace> places;  // some, those with the highest cost first
};

/// The whole job; seconds are means over its ranks.
struct JobSummary {
  Rank ranks = 1;
  bool observes = false;  // no call was changed
  Seconds elapsed = 0;    // from MPI_Init to MPI_Finalize ...
  Seconds longest = 0;    // ... on the rank that came there last, for which the others waited
  Rank last_to_end = 0;
  Seconds waiting = 0;
  Seconds moving = 0;
  Seconds elsewhere = -1;           // in messages, windows, files and the like; -1: not measured
  Seconds slept = 0;                // while waiting, so that cores were free
  Seconds saved = 0;                // by handled calls, as estimated; negative: lost
  Seconds saved_range = 0;          // the estimate may be off by so much either way; -1: unknown
  std::uint64_t estimated = 0;      // handled calls of all ranks that the estimate is about
  latecomer_stats calls{};          // of all ranks
  std::uint64_t least_handled = 0;  // on one rank
  std::uint64_t short_calls = 0;    // of all ranks, left to the MPI library at once
  std::uint64_t nonblocking = 0;    // of all ranks, not measured: non-blocking collectives, ...
  std::uint64_t persistent = 0;     // ... requests for persistent ones, ...
  std::uint64_t neighbour = 0;      // ... and collectives among neighbours
  Seconds clock_error = 0;          // of the common time
  JobWaits waits;
  std::vector<std::string> hosts;       // by rank
  std::vector<trace::Outside> outside;  // by rank
};

/// True if the estimate of the saved time is one that the run allows: it is known how sure it is,
/// and it is not more than all that was measured.
[[nodiscard]] bool has_estimate(const JobSummary& job);

/// Two or three sentences.
[[nodiscard]] std::string describe(const JobSummary& job);
[[nodiscard]] std::string json(const JobSummary& job);

// Sums over calls whose arrivals are known of who waits for whom (lateness/calls.hpp).

/// Sums over calls of the same ranks, by their place.
struct Waits {
  explicit Waits(std::size_t ranks = 0)
      : waiting(ranks), moving(ranks), cost(ranks), squares(ranks), lateness(ranks), last(ranks) {}

  /// Adds a call of at least one rank. Times are those of one clock; `ready` as in
  /// lateness/calls.hpp. `by_all`: nobody can leave the call before all have entered it, whatever
  /// clocks say that are not exact.
  void add(std::span<const Seconds> arrivals, std::span<const Seconds> exits,
           std::span<const Seconds> ready, bool by_all = false);
  /// Takes away what was added as `other`.
  void remove(const Waits& other);
  [[nodiscard]] Seconds all_waiting() const;

  std::uint64_t calls = 0;
  std::vector<Seconds> waiting;
  std::vector<Seconds> moving;
  std::vector<Seconds> cost;      // that the others waited for it
  std::vector<double> squares;    // of its cost in each call
  std::vector<Seconds> lateness;  // after the median arrival, or the other of two; negative: before
  std::vector<double> last;       // calls in which it alone came last
};

}  // namespace latecomer
