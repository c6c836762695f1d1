// The time of a pipelined chain in which each rank forwards segments to the next rank in the plan's
// order as it receives them; linear.cpp builds it, and the arrival broadcasts make such chains.
#pragma once

#include "algorithms/segments.hpp"

namespace latecomer::bcast {

/// Fills in the segments of a plan that has its order; `arrivals` empty: all arrive together.
void fill_chain(Plan& plan, const Network& network, const std::vector<Seconds>& arrivals);
Cost chain_cost(const Plan& plan);
Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals);

}  // namespace latecomer::bcast
