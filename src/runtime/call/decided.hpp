// Calls that all ranks decide about, and the plans that they execute.
#pragma once

#include "runtime/call/ending.hpp"
#include "runtime/call/request.hpp"

namespace latecomer {

/// Decides about the call and executes it. The ranks are linked, and their settings are alike.
/// `arrived`: on the common clock.
[[nodiscard]] Ending decide_and_execute(CommState& state, const Request& request,
                                        CallClass* call_class, Seconds arrived);

}  // namespace latecomer
