// Closed forms of all-reduces that are not told along with the algorithm: of two ranks or more.
#pragma once

#include <vector>

#include "base/network.hpp"
#include "schedule/plan.hpp"

namespace latecomer::allreduce {

/// When all arrive together.
[[nodiscard]] Seconds recursive_doubling_time(const Plan& plan, const Network& network);
/// The mean of exit minus last arrival.
[[nodiscard]] Seconds recursive_doubling_after_last(const Plan& plan, const Network& network,
                                                    const std::vector<Seconds>& arrivals);

}  // namespace latecomer::allreduce
