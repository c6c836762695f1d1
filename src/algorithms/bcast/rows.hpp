// The broadcast rows of the registry, one function for each file of this folder.
#pragma once

#include <vector>

#include "algorithms/common_rows.hpp"

namespace latecomer::bcast {

Algorithm arrival_b();
Algorithm arrival_nb();
Algorithm binomial();
Algorithm flat();
Algorithm linear();
Algorithm scatter_allgather();
Algorithm sorted_linear();

[[nodiscard]] inline std::vector<Algorithm> rows() {
  return {arrival_b(), arrival_nb(),        binomial(),     flat(),
          linear(),    scatter_allgather(), sorted_linear()};
}

}  // namespace latecomer::bcast
