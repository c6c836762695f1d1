// The all-reduce rows of the registry, one function for each file of this folder.
#pragma once

#include "algorithms/registry.hpp"

namespace latecomer::allreduce {

Algorithm circulant();
Algorithm generalized();
Algorithm linear_tree();
Algorithm native();
Algorithm prereduced_ring();
Algorithm rabenseifner();
Algorithm recursive_doubling();
Algorithm ring();
Algorithm segmented_ring();
Algorithm sorted_linear_tree();

}  // namespace latecomer::allreduce
