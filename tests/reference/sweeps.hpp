// The limits of sweeps. Sanitizers make runs many times slower, and must see each line, not each
// case: under them sweeps end at five ranks, and random runs are fewer.
#pragma once

#include "base/types.hpp"

namespace latecomer::testing {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline constexpr Rank kMaxRanks = kSanitized ? 5 : 17;

/// Returns the number of random runs to make, out of so many.
constexpr int random_runs(int all) { return kSanitized ? all / 20 : all; }

}  // namespace latecomer::testing
