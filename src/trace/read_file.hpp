// One rank's trace file, read and checked. Files are not trusted: whatever they say is checked
// before it is used. A record that is wrong is left out and counted; without its header a file is
// of no use.
#pragma once

#include <cstdint>
#include <string>

#include "trace/rank_file.hpp"

namespace latecomer::trace {

/// Reads the file of `rank`, as its name says.
[[nodiscard]] RankFile read_rank_file(const std::string& path, std::int64_t rank,
                                      SharedNumbers& shared);

}  // namespace latecomer::trace
