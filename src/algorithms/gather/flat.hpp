// The root takes every rank's part from that rank, one after another in the plan's order: what
// linear_sync and sorted_linear_sync share.
#pragma once

#include "algorithms/registry.hpp"

namespace latecomer::gather {

void build_flat(const Plan& plan, Builder& builder);
Cost flat_cost(const Plan& plan);
Seconds flat_time(const Plan& plan, const Network& network);
Seconds flat_time_after_last(const Plan& plan, const Network& network,
                             const std::vector<Seconds>& arrivals);

}  // namespace latecomer::gather
