// The pipelined line that linear_tree and sorted_linear_tree share: segments are reduced along the
// ranks in the plan's order, from both ends to the root, which may stand anywhere in it.
#pragma once

#include "algorithms/segments.hpp"

namespace latecomer::reduce {

/// The mean of exit minus last arrival, for a line that ends in the root.
[[nodiscard]] Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                                            const std::vector<Seconds>& arrivals);

void build_chain(const Plan& plan, Builder& builder);
Cost chain_cost(const Plan& plan);

}  // namespace latecomer::reduce
