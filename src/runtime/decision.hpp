// What is done about one call: the same on every rank, since all know the same.
#pragma once

#include "runtime/comm_state.hpp"

namespace latecomer {

struct Decision {
  Choice choice;                  // native: the MPI library carries the call out
  std::vector<Seconds> arrivals;  // to plan with; empty: all together
  bool tell = true;               // all ranks of the arrivals, where they are watched
};

/// Once for every call that is handled. Throws Error where no candidate takes the problem.
[[nodiscard]] Decision decide(CommState& state, const Problem& problem);

/// A call is over and was told of: what is known now of it, or of the one before, corrects what
/// will be chosen.
void learn(CommState& state);

}  // namespace latecomer
