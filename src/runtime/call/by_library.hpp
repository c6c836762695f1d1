// Calls that the MPI library executes.
#pragma once

#include "runtime/call/ending.hpp"
#include "runtime/call/request.hpp"

namespace latecomer {

/// Executes the MPI library's collective; if MPI refuses the call it calls the program's error
/// handler. Returns MPI's code.
int execute_natively(CommState& state, const Call& call);

/// Executes a native call without any decision. `counter`: the reason. `call_class`: its class, if
/// its duration is watched.
[[nodiscard]] Ending execute_by_library(CommState& state, const Request& request,
                                        CallCounter counter, CallClass* call_class = nullptr,
                                        Seconds entered = 0);

}  // namespace latecomer
