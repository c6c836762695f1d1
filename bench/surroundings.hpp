// Where a program of the benchmark runs.
#pragma once

#include <string>
#include <vector>

namespace bench {

/// The processor names of all ranks, by rank, on every rank. Collective.
[[nodiscard]] std::vector<std::string> hosts();

/// What the MPI library says of itself.
[[nodiscard]] std::string library();

}  // namespace bench
