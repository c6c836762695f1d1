// The scatter rows of the registry, one function for each file of this folder.
#pragma once

#include <vector>

#include "algorithms/common_rows.hpp"

namespace latecomer::scatter {

Algorithm binomial();
Algorithm linear();
Algorithm sorted_binomial();
Algorithm sorted_linear();

[[nodiscard]] inline std::vector<Algorithm> rows() {
  return {binomial(), linear(), sorted_binomial(), sorted_linear()};
}

}  // namespace latecomer::scatter
