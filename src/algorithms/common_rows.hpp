// The rows that every collective has.
#pragma once

#include "algorithms/registry.hpp"

namespace latecomer {

Algorithm automatic(Collective collective);
Algorithm fastest(Collective collective);
Algorithm native(Collective collective);

/// `tells` of rows whose messages always tell all ranks of each other.
inline bool always_tells(const Plan& /*plan*/) { return true; }

}  // namespace latecomer
