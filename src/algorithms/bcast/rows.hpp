// The broadcast rows of the registry, one function for each file of this folder.
#pragma once

#include <vector>

#include "algorithms/common_rows.hpp"

namespace latecomer::bcast {

Algorithm binomial();

[[nodiscard]] inline std::vector<Algorithm> rows() { return {binomial()}; }

}  // namespace latecomer::bcast
