// The pipelined chain that linear_tree and sorted_linear_tree share: segments are reduced along the
// ranks in the plan's order; the last rank holds the result and sends it to the others.
#pragma once

#include "algorithms/segments.hpp"

namespace latecomer::allreduce {

/// The way of the result from the end of the chain. `ring`: to the head and then along the chain,
/// so that no rank exchanges both ways with a neighbour and none sends more than twice the vector
/// after the last arrival. `back`: along the chain, against the way of the partial results.
enum class Override : std::uint8_t { ring, back };

/// The mean exit minus the last arrival, seconds; for other overrides than `ring` an upper bound.
[[nodiscard]] Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                                            const std::vector<Seconds>& arrivals);

std::vector<Parameter> chain_parameters();
void build_chain(const Plan& plan, Builder& builder);
Cost chain_cost(const Plan& plan);

}  // namespace latecomer::allreduce
