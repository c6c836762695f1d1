// The file for statistics. Users with write access to its folder can neither redirect it nor see an
// incomplete file.
#pragma once

#include <string>

#include "base/types.hpp"

namespace latecomer {

/// Expands a pattern (base/files.hpp).
[[nodiscard]] std::string stats_file_name(const std::string& pattern, Rank rank);

/// True if the pattern gives each rank a file of its own.
[[nodiscard]] bool is_of_each_rank(const std::string& pattern);

/// Writes a new file and moves it to `name`. Returns the reason of a failure; empty: none. An
/// existing `name` must be a regular file, not a symbolic link or a device.
[[nodiscard]] std::string write_stats_file(const std::string& name, const std::string& text);

}  // namespace latecomer
