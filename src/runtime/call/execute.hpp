// Executes a collective call, from its arguments to its end.
//
//   arguments -> request (request.hpp: problem)
//             -> state    (states.cpp: what the communicator does with the call)
//             -> decision (choose/chooser.hpp, or rank 0's announcement: library, refused, plan)
//             -> run      (the MPI library's function, or the plan's program)
//             -> learn    (arrivals and exits, known to all ranks)
//             -> record   (statistics)
//
// Calls that the MPI library has executed before, and from which nothing is to be learned now, take
// a shortcut (shortcuts.hpp) past all of it.
#pragma once

#include "runtime/call/request.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer {

/// Returns MPI's code; errors went through the communicator's error handler.
int execute(CommState& state, const Call& call);

/// Carries out a call that began at `entered`, as the state of the communicator says. Exceptions of
/// the program's operators leave it.
[[nodiscard]] Ending carry_out(CommState& state, const Request& request, Seconds entered);

/// Called after a collective of the MPI library in which all ranks of the communicator waited for
/// each other: does what waited for such a call. Errors show in later calls.
void after_synchronising(CommState& state);

/// Adds the call to the statistics, and notes whether calls like it can take the shortcut.
void record(CommState& state, const Request& request, const Ending& ending, Seconds entered);

}  // namespace latecomer
