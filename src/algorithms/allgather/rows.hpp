// The all-gather rows of the registry, one function for each file of this folder.
#pragma once

#include <vector>

#include "algorithms/common_rows.hpp"

namespace latecomer::allgather {

Algorithm ring();

[[nodiscard]] inline std::vector<Algorithm> rows() { return {ring()}; }

}  // namespace latecomer::allgather
