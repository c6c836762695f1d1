// How the blocks are shared out among the ranks that own them.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace latecomer::allreduce {

/// By block, its owner. An owner takes in P-1 contributions for each of its blocks and the results
/// of all others. Shares are such that all ranks could be done with that at the same time
/// (`arrivals` in rounds): who comes later owns less, down to nothing. Who comes earlier than half
/// the blocks' rounds before the last one counts as coming then. Neighbouring blocks have different
/// owners.
[[nodiscard]] std::vector<Rank> share_out(const std::vector<Count>& arrivals, Count blocks);

}  // namespace latecomer::allreduce
