// The file that statistics go to. Whoever else may write to its folder can neither have it lead
// elsewhere nor see half of it.
#pragma once

#include <string>

#include "base/types.hpp"

namespace latecomer {

/// %r becomes the rank, %p the process id and %j the job: what PMIx, Slurm, PBS or LSF call it,
/// else the id of the process that started this one.
[[nodiscard]] std::string stats_file_name(const std::string& pattern, Rank rank);

/// Whether each rank has a file of its own, by the pattern.
[[nodiscard]] bool is_of_each_rank(const std::string& pattern);

/// Writes to a new file beside it, which takes its place. Returns why that could not be done;
/// empty: it was. What is there may be a regular file only: no link, no device.
[[nodiscard]] std::string write_stats_file(const std::string& name, const std::string& text);

}  // namespace latecomer
