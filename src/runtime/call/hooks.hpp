// The program's hooks around its computation: they report its progress, and make progress on
// messages.
#pragma once

#include "runtime/comm_state.hpp"

namespace latecomer {

void compute_begin(CommState& state);
/// Throws Error as ComputePhase::progress.
void compute_progress(CommState& state, double fraction);
/// Throws Error as ComputePhase::end.
void compute_end(CommState& state);

}  // namespace latecomer
