// Lateness that wanders: each call it is the turn of the rank a fixed number of ranks further on,
// as where a rank after the other writes a checkpoint.
#pragma once

#include "forecast/pattern_history.hpp"

namespace latecomer {

/// Predicts the last pattern, moved on by as many ranks as it had moved from the one before;
/// seconds. The moves tried lead from the latest rank then to one of the few latest ranks now, so
/// the time is linear in the ranks. The history must have at least 2 patterns.
void shift(const PatternHistory& history, std::span<float> next);

}  // namespace latecomer
