// When the ranks of an arrival broadcast leave, about: chain by chain instead of segment by
// segment, for calls of which a clock would play too many.
#pragma once

#include <vector>

#include "algorithms/bcast/arrival/arrival_rank.hpp"
#include "base/network.hpp"

namespace latecomer::bcast {

/// By rank, in time proportional to P log P. `bytes`: of a segment.
[[nodiscard]] std::vector<Seconds> estimated_exits(const Network& network, Count bytes,
                                                   const Feeding& feeding,
                                                   const std::vector<Seconds>& arrivals);

}  // namespace latecomer::bcast
