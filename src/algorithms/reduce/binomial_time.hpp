// When the ranks of a binomial tree leave, whoever is late.
#pragma once

#include <vector>

#include "base/network.hpp"
#include "schedule/problem.hpp"

namespace latecomer::reduce {

/// Mean over the ranks of exit minus last arrival, seconds. `tree_root`: whose result goes to the
/// problem's root in one message more, if it is another rank. `arrivals`: one a rank.
[[nodiscard]] Seconds binomial_after_last(const Problem& problem, Rank tree_root,
                                          const Network& network,
                                          const std::vector<Seconds>& arrivals);

}  // namespace latecomer::reduce
