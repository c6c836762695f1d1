// The all-reduce rows of the registry, one function for each file of this folder.
#pragma once

#include "algorithms/registry.hpp"

namespace latecomer::allreduce {

/// Of rows whose messages always tell all ranks of each other.
inline bool always_tells(const Plan& /*plan*/) { return true; }

Algorithm automatic();
Algorithm circulant();
Algorithm dual_root();
Algorithm fastest();
Algorithm generalized();
Algorithm linear_tree();
Algorithm native();
Algorithm pipelined_tree();
Algorithm prereduced_ring();
Algorithm rabenseifner();
Algorithm recursive_doubling();
Algorithm reduce_bcast();
Algorithm ring();
Algorithm segmented_ring();
Algorithm sorted_linear_tree();
Algorithm two_tree();

}  // namespace latecomer::allreduce
