// A collective call with the algorithm chosen for the communicator.
#pragma once

#include "runtime/call.hpp"

namespace latecomer {

/// Returns MPI's code; errors went through the communicator's error handler.
int carry_out(const Call& call);
/// The same before persistent calls that are started: they have their turn later.
int carry_out_now(const Call& call);

}  // namespace latecomer
