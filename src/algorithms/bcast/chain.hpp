// The pipelined chain that linear and sorted_linear share: each rank hands segments on to the next
// in the plan's order as it gets them.
#pragma once

#include "algorithms/registry.hpp"

namespace latecomer::bcast {

std::vector<Parameter> chain_parameters();
/// Fills in the segments for a plan with its order; `arrivals` empty: all arrive together.
void fill_chain(Plan& plan, const Network& network, const std::vector<Seconds>& arrivals);
void build_chain(const Plan& plan, Builder& builder);
Cost chain_cost(const Plan& plan);
Seconds chain_time(const Plan& plan, const Network& network);
Seconds chain_time_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals);

}  // namespace latecomer::bcast
