// Who sends which block to whom, round by round: every rank sends and receives at most one in each.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace latecomer::allreduce {

/// A block goes from one rank to another: a partial result, which the receiver combines with its
/// own and the sender is rid of, or the final one.
struct Hop {
  Rank from = 0;
  Rank to = 0;
  Count block = 0;
  bool final = false;
};

struct Timetable {
  std::vector<Hop> hops;     // in the order of their rounds
  std::vector<Count> exits;  // by rank: rounds after which it has nothing left to do
  Count rounds = 0;          // that all take
};

/// `arrivals`: by rank, the round from which on it takes part. `owners`: by block, the rank where
/// its contributions come together.
[[nodiscard]] Timetable make_timetable(const std::vector<Count>& arrivals,
                                       const std::vector<Rank>& owners);

}  // namespace latecomer::allreduce
