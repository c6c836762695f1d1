// Where a program of the benchmark runs.
#pragma once

#include <string>
#include <vector>

namespace bench {

/// The processor names of all ranks, by rank, on every rank. Collective.
[[nodiscard]] std::vector<std::string> hosts();

/// The MPI library's name and version in its own words.
[[nodiscard]] std::string library();

}  // namespace bench
