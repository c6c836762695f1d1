// When ranks leave: the messages of all ranks played, one number a message.
#pragma once

#include <vector>

#include "base/network.hpp"
#include "schedule/plan.hpp"

namespace latecomer::allreduce {

/// By position, in seconds, if ranks arrive so (one entry a rank). `plan` is one of
/// straggler_exchange, for a power of two of at least two ranks. One node a rank, no jitter.
[[nodiscard]] std::vector<Seconds> play_exchange(const Plan& plan, const Network& network,
                                                 const std::vector<Seconds>& arrivals);

}  // namespace latecomer::allreduce
