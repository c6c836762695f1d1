// An observation of one call: when each rank entered it, and when each had left the call before.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// Seconds on a clock that the ranks share, one value a rank. Where the clock starts does not
/// matter.
struct Observation {
  std::vector<Seconds> arrivals;
  /// The exits from the communicator's call before, of whatever key. Empty: there was none, or they
  /// are not known; then the ranks count as having left it together.
  std::vector<Seconds> exits_before;
};

/// Throws Error naming the first value that is no time, or a length that does not fit the ranks.
void check(const Observation& observation, Rank ranks);

}  // namespace latecomer
