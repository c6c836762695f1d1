// The walk of segments around a ring that ring, segmented_ring and prereduced_ring share.
//
// A segment that starts at position b is reduced over b, b+1, ..., b-1; then its result goes over
// b-1, b, ..., b-2: P-1 hops each. The algorithms differ only in the number of segments that start
// at each position: n(b) for b = 0..P-1, the plan's table. Position i sends S - n(i+1) partial and
// S - n(i+2) final segments, in all 2 S (P-1) over the ring, whatever n.
#pragma once

#include "algorithms/registry.hpp"

namespace latecomer::allreduce {

/// `plan.table` is n, `plan.order` the ranks by position.
/// Throws Error for an order or a table of which no walk can be made.
void check_ring_walk(const Plan& plan);
void build_ring_walk(const Plan& plan, Builder& builder);
Cost ring_walk_cost(const Plan& plan);
/// The mean of exit minus last arrival.
[[nodiscard]] Seconds ring_walk_mean_after_last(const Plan& plan, const Network& network,
                                                const std::vector<Seconds>& arrivals);
/// n for segments spread evenly over the positions.
std::vector<Count> even_starts(Rank ranks, Count segments);

}  // namespace latecomer::allreduce
