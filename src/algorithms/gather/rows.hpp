// The gather rows of the registry, one function for each file of this folder.
#pragma once

#include <vector>

#include "algorithms/common_rows.hpp"

namespace latecomer::gather {

Algorithm binomial();
Algorithm linear_sync();
Algorithm sorted_binomial();
Algorithm sorted_linear_sync();

[[nodiscard]] inline std::vector<Algorithm> rows() {
  return {binomial(), linear_sync(), sorted_binomial(), sorted_linear_sync()};
}

}  // namespace latecomer::gather
