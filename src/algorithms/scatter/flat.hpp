// The root sends every rank its part itself, in the plan's order: what linear and sorted_linear
// share.
#pragma once

#include "algorithms/registry.hpp"

namespace latecomer::scatter {

void build_flat(const Plan& plan, Builder& builder);
Cost flat_cost(const Plan& plan);
Seconds flat_time(const Plan& plan, const Network& network);
Seconds flat_time_after_last(const Plan& plan, const Network& network,
                             const std::vector<Seconds>& arrivals);

}  // namespace latecomer::scatter
