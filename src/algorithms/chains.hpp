// Pipelined chains of ranks, along which segments of a vector go.
#pragma once

#include "algorithms/segments.hpp"

namespace latecomer::allreduce {

// The pipelined chain that linear_tree and sorted_linear_tree share: segments are reduced along the
// ranks in the plan's order; the last rank holds the result and sends it to the others.

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

namespace latecomer::reduce {

// The pipelined line that linear_tree and sorted_linear_tree share: segments are reduced along the
// ranks in the plan's order, from both ends to the root, which may stand anywhere in it.

/// The mean of exit minus last arrival, for a line that ends in the root.
[[nodiscard]] Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                                            const std::vector<Seconds>& arrivals);

void build_chain(const Plan& plan, Builder& builder);
Cost chain_cost(const Plan& plan);

}  // namespace latecomer::reduce

namespace latecomer::bcast {

// The time of a pipelined chain in which each rank forwards segments to the next rank in the plan's
// order as it receives them; bcast/linear.cpp builds it, and the arrival broadcasts make such
// chains.

/// Fills in the segments of a plan that has its order; `arrivals` empty: all arrive together.
void fill_chain(Plan& plan, const Network& network, const std::vector<Seconds>& arrivals);
Cost chain_cost(const Plan& plan);
Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals);

}  // namespace latecomer::bcast
