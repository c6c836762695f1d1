// Ranks that arrive later and later: a straight line a rank through its last times.
#pragma once

#include "forecast/pattern_history.hpp"

namespace latecomer {

inline constexpr int kTrendCalls = 8;

/// The next times, seconds, by Theil's incomplete method (1950): the slope is the median over pairs
/// of calls half the window apart, the height the median of what the slope leaves. An outlier among
/// the 8 calls moves neither far. The history must have 2 patterns or more.
void trend(const PatternHistory& history, std::span<float> next);

}  // namespace latecomer
