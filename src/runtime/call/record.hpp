// The record of a call: statistics, and whether calls like it can take the shortcut.
#pragma once

#include "runtime/call/ending.hpp"
#include "runtime/call/request.hpp"

namespace latecomer {

/// Adds the call to the statistics, and notes whether calls like it can take the shortcut.
void record(CommState& state, const Request& request, const Ending& ending, Seconds entered);

}  // namespace latecomer
