// Who sends which block to whom, round by round: every rank sends and receives at most one in each.
#pragma once

#include <vector>

#include "algorithms/allreduce/early_owners/ports.hpp"

namespace latecomer::allreduce {

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
