// Groups of ranks that read the same clock: those of one running kernel and one time namespace.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

struct ClockGroups {
  std::vector<Rank> leaders;  // the lowest rank of each clock, ascending; rank 0 is the first
  std::vector<Rank> mates;    // all ranks that read this rank's clock, ascending
};

/// `clocks`: the identity of each rank's clock; 0: not known, so the clock counts as the rank's
/// own.
[[nodiscard]] ClockGroups group_clocks(const std::vector<std::uint64_t>& clocks, Rank me);

}  // namespace latecomer
