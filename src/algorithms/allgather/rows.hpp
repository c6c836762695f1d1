// The all-gather rows of the registry, one function for each file of this folder.
#pragma once

#include <vector>

#include "algorithms/common_rows.hpp"

namespace latecomer::allgather {

Algorithm bruck();
Algorithm disseminated_ring();
Algorithm gather_bcast();
Algorithm late_doubling();
Algorithm neighbor_exchange();
Algorithm recursive_doubling();
Algorithm ring();
Algorithm sorted_gather_bcast();

[[nodiscard]] inline std::vector<Algorithm> rows() {
  return {bruck(),         disseminated_ring(),  gather_bcast(),
          late_doubling(), neighbor_exchange(),  recursive_doubling(),
          ring(),          sorted_gather_bcast()};
}

}  // namespace latecomer::allgather
