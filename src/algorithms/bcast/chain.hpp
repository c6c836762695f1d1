// How long a pipelined chain takes in which each rank hands segments on to the next in the plan's
// order as it gets them; linear.cpp builds it, and the arrival broadcasts make such chains.
#pragma once

#include "algorithms/segments.hpp"

namespace latecomer::bcast {

/// Fills in the segments for a plan with its order; `arrivals` empty: all arrive together.
void fill_chain(Plan& plan, const Network& network, const std::vector<Seconds>& arrivals);
Cost chain_cost(const Plan& plan);
Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals);

}  // namespace latecomer::bcast
