// The injected delays: for each iteration and rank the seconds that it is late.
#pragma once

#include <string>
#include <vector>

namespace bench {

using Delays = std::vector<std::vector<double>>;  // [iteration][rank]

/// Rank 0 reads the file, all ranks get it. Throws UsageError on all ranks.
[[nodiscard]] Delays read_delays(const std::string& file);

}  // namespace bench
