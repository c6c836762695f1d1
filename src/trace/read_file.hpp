// One rank's trace file, read and checked. Files are not trusted: whatever they say is checked
// before it is used. A record that is wrong is left out and counted; without its header a file is
// of no use.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/rank_file.hpp"

namespace latecomer::trace {

/// Reads the file of `rank`, as its name says.
[[nodiscard]] RankFile read_rank_file(const std::string& path, std::int64_t rank,
                                      SharedNumbers& shared);
/// Fills in the members of communicators of which each file knows its own rank's place alone. A
/// place of which no file tells gets a rank that has no file, if there is one. Of two files of
/// one place, and of two places of one file, the first counts: to the others members differ.
void gather_members(std::span<RankFile* const> files);

}  // namespace latecomer::trace
