// The reduce rows of the registry, one function for each file of this folder.
#pragma once

#include <vector>

#include "algorithms/common_rows.hpp"

namespace latecomer::reduce {

Algorithm binary_tree();
Algorithm binomial();
Algorithm direct_send();
Algorithm linear();
Algorithm linear_tree();
Algorithm local_redirect();
Algorithm rabenseifner();
Algorithm sorted_linear_tree();
Algorithm static_tree();

[[nodiscard]] inline std::vector<Algorithm> rows() {
  return {binary_tree(),    binomial(),     direct_send(),        linear(),     linear_tree(),
          local_redirect(), rabenseifner(), sorted_linear_tree(), static_tree()};
}

}  // namespace latecomer::reduce
