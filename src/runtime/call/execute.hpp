// A collective call: the straight way from its arguments to its end.
//
//   arguments -> request (request.hpp: problem, understood once)
//             -> decision (choose/chooser.hpp, or rank 0's announcement: library, refused, plan)
//             -> run     (the MPI library's function, or the plan's program on the link)
//             -> learn   (arrivals and exits, told to all ranks)
//             -> record  (statistics)
//
// Calls that the MPI library has carried out before, and of which nothing is to be learned now,
// take a shortcut (shortcuts.hpp) past all of it.
#pragma once

#include "runtime/comm_state.hpp"

namespace latecomer {

/// Returns MPI's code; errors went through the communicator's error handler.
int execute(CommState& state, const Call& call);

}  // namespace latecomer
