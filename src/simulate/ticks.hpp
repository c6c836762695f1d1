// The clock of simulations, which counts picoseconds.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/types.hpp"

namespace latecomer {

using Ticks = std::int64_t;

inline constexpr std::string_view kTransfer = "time of a message (alpha + bytes x beta)";

/// Throws Error naming `what` beyond a million seconds either way: sums have room, up to the end of
/// the clock.
[[nodiscard]] Ticks to_ticks(std::string_view what, Seconds seconds);
[[nodiscard]] Seconds to_seconds(Ticks ticks);
/// Throws Error at the end of the clock.
[[nodiscard]] Ticks later(Ticks time, Ticks by);

}  // namespace latecomer
