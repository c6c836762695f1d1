// What a traced job would have taken with other computation, a faster network, or other algorithms:
// each call begins when its rank comes to it, and goes on when what it waits for has come
// (docs/decisions/0043-origin.md).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lateness/traced_job.hpp"

namespace latecomer {

/// Collectives that are carried out anew. Each call is in one of them at most.
struct CarriedOut {
  Lists calls;  // of each collective, one of each member
  /// The exits of collective `number` in seconds, for arrivals in seconds; one a member.
  std::function<std::vector<Seconds>(std::size_t number, std::span<const Seconds> arrivals)> exits;
};

struct Change {
  /// The part of the computation before each call that is left out; less than 0: as much is added.
  std::span<const double> less;
  /// Multiples of what each call took beyond waiting; those that are carried out anew take what
  /// that says.
  std::span<const double> moving;
  CarriedOut anew;
};

/// Places in the order of a job, from `begin` up to `end`.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// What a stretch takes. It begins as it was measured.
struct Replayed {
  Seconds from = 0;            // when ranks had left their last call before it, in the mean
  Seconds until = 0;           // when they had left the last one in it; both as measured
  std::vector<Seconds> ahead;  // by how much earlier each rank has left its last call
  Seconds waiting = 0;         // sums over ranks and calls
  Seconds moving = 0;
};

/// Replays stretches, which do not overlap and are in order. Throws as check(), and whatever
/// `exits` throws.
[[nodiscard]] std::vector<Replayed> replay(const TracedJob& job, const Change& change,
                                           std::span<const Stretch> stretches);

}  // namespace latecomer
