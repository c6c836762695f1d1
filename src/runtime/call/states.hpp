// How a communicator carries out a call: one function for each state that it may be in. What
// decides about the state changes only at moments that all ranks know, so that all are in the same
// one.
#pragma once

#include "runtime/call/request.hpp"

namespace latecomer {

// Calls that the MPI library executes.

/// Executes the MPI library's collective; if MPI refuses the call it calls the program's error
/// handler. Returns MPI's code.
int execute_natively(CommState& state, const Call& call);

/// Executes a native call without any decision. `counter`: the reason. `call_class`: its class, if
/// its duration is watched.
[[nodiscard]] Ending execute_by_library(CommState& state, const Request& request,
                                        CallCounter counter, CallClass* call_class = nullptr,
                                        Seconds entered = 0);

// Calls that all ranks decide about, and the plans that they execute.

/// Decides about the call and executes it. The ranks are linked, and their settings are alike.
/// `arrived`: on the common clock.
[[nodiscard]] Ending decide_and_execute(CommState& state, const Request& request,
                                        CallClass* call_class, Seconds arrived);

/// Carries out a call that began at `entered`. Exceptions of the program's operators leave it.
[[nodiscard]] Ending carry_out(CommState& state, const Request& request, Seconds entered);

}  // namespace latecomer
