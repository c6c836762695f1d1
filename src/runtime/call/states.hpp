// How a communicator carries out a call: one function for each state that it may be in. What
// decides about the state changes only at moments that all ranks know, so that all are in the same
// one.
#pragma once

#include "runtime/call/ending.hpp"
#include "runtime/call/request.hpp"

namespace latecomer {

/// Carries out a call that began at `entered`. Exceptions of the program's operators leave it.
[[nodiscard]] Ending carry_out(CommState& state, const Request& request, Seconds entered);

}  // namespace latecomer
