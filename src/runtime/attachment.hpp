// The state of a communicator as an attribute: attached at the first request, freed with it.
#pragma once

#include "runtime/comm_state.hpp"

namespace latecomer {

/// The communicator's state, made at the first request. Throws Error if MPI cannot attach it.
[[nodiscard]] CommState& state_of(MPI_Comm comm);

/// True if this thread's last call was on this communicator, which is still there.
[[nodiscard]] bool used_last(MPI_Comm comm);
/// Forgets all communicators, at the end of MPI.
void forget_last();

/// The communicator's state if there is one, else null.
[[nodiscard]] CommState* existing_state(MPI_Comm comm);

/// As state_of(), for a call. Returns null if the communicator must be left alone: it is
/// MPI_COMM_NULL, or it is being freed and a delete function of the program makes a last call on
/// it.
[[nodiscard]] CommState* state_for_call(MPI_Comm comm);

}  // namespace latecomer
