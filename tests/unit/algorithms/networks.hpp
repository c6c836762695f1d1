// Two networks on which closed forms are compared with simulated runs: one where messages are dear,
// one where they are cheap.
#pragma once

#include "base/network.hpp"

namespace latecomer {

inline const Network kSlow{.alpha = 50e-6, .beta = 8e-9, .gamma = 0.1e-9};
inline const Network kFast{.alpha = 3e-6, .beta = 0.286e-9, .gamma = 0.05e-9};

}  // namespace latecomer
