// The all-reduce rows of the registry, one function for each file of this folder.
#pragma once

#include <vector>

#include "algorithms/common_rows.hpp"

namespace latecomer::allreduce {

Algorithm circulant();
Algorithm dual_root();
Algorithm early_owners();
Algorithm generalized();
Algorithm linear_tree();
Algorithm pipelined_tree();
Algorithm prereduced_ring();
Algorithm rabenseifner();
Algorithm recursive_doubling();
Algorithm reduce_bcast();
Algorithm ring();
Algorithm segmented_ring();
Algorithm sorted_linear_tree();
Algorithm straggler_exchange();
Algorithm two_tree();

[[nodiscard]] inline std::vector<Algorithm> rows() {
  return {circulant(),
          dual_root(),
          early_owners(),
          generalized(),
          linear_tree(),
          pipelined_tree(),
          prereduced_ring(),
          rabenseifner(),
          recursive_doubling(),
          reduce_bcast(),
          ring(),
          segmented_ring(),
          sorted_linear_tree(),
          straggler_exchange(),
          two_tree()};
}

}  // namespace latecomer::allreduce
