// The timetable of all messages, round by round: every rank sends and receives at most one in each.
#pragma once

#include <vector>

#include "algorithms/allreduce/early_owners/ports.hpp"

namespace latecomer::allreduce {

struct Timetable {
  std::vector<Hop> hops;     // in the order of their rounds
  std::vector<Count> exits;  // by rank: rounds after which it has nothing left to do
  Count rounds = 0;          // until the last message is received
};

/// The timetable for a vector of `blocks` blocks. `arrivals`: by rank, the round from which on it
/// takes part. The hops of a round do not depend on later arrivals.
[[nodiscard]] Timetable make_timetable(const std::vector<Count>& arrivals, Count blocks);

}  // namespace latecomer::allreduce
