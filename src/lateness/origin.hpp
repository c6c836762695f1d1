// Who is the origin of waiting: the waits of a traced job, charged to the computation that they
// come from (docs/decisions/0043-origin.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// Calls in which ranks may wait, each from a rank's entry to its exit. Entries of one number
/// belong together; times are in seconds.
struct WaitingCalls {
  std::span<const std::int64_t> rank;
  std::span<const Seconds> begin;
  std::span<const Seconds> end;
  std::span<const std::int64_t> place;  // in the program
  std::span<const std::int64_t> cause;  // the post that it waited for last; -1: none
  std::span<const std::int64_t> meets;  // 1: all ranks of the job wait for each other in it
  std::span<const std::int64_t> step;   // of the computation before it
};

/// Moments at which a rank did what others may wait for: it sent, or it came to a collective.
struct Posts {
  std::span<const std::int64_t> rank;
  std::span<const Seconds> time;
  std::span<const std::int64_t> step;
};

/// A traced job.
struct TracedJob {
  WaitingCalls calls;
  Posts posts;
  /// Ends of calls and posts by their time: twice the number, and 1 more for an end.
  std::span<const std::int64_t> order;
  /// Each rank's computation beyond the median rank's: seconds of step 0 by rank, then of step 1.
  std::span<const Seconds> beyond;
  std::span<const Seconds> start;  // when each rank began
};

/// The cost of a rank for all others at a place: seconds that they wait because it computes longer
/// after its call there.
struct Charge {
  std::int64_t rank;
  std::int64_t place;
  Seconds seconds;
};

/// Sums over the job, in seconds; the vectors have one entry a rank.
struct Origins {
  std::vector<Charge> charges;
  std::vector<Seconds> direct;   // that others waited for each rank, whoever is the origin
  std::vector<Seconds> waiting;  // of each rank
  std::vector<Seconds> moving;   // of each rank: in calls, but not waiting
  Seconds order = 0;             // waiting that comes from nobody's longer computation
  std::int64_t waits = 0;        // calls in which a rank waited
};

/// Charges all waiting. Throws Error if a number in the job is none of its ranks, posts or steps.
[[nodiscard]] Origins find_origins(const TracedJob& job);

/// By how many seconds each rank would be ahead at its end, had the ranks with a nonzero mark no
/// computation beyond the median rank's. `marks`: one a rank. Throws as find_origins().
[[nodiscard]] std::vector<Seconds> ahead_without(const TracedJob& job,
                                                 std::span<const std::int64_t> marks);

}  // namespace latecomer
