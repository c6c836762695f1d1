// Names of files that users give as patterns.
#pragma once

#include <optional>
#include <string>

#include "base/types.hpp"

namespace latecomer {

/// Expands a pattern: %r is the rank, %p the process id and %j the job's id by PMIx, Slurm, PBS or
/// LSF, else the id of the parent process. `variable`: what the environment has.
[[nodiscard]] std::string expanded(const std::string& pattern, Rank rank,
                                   std::optional<std::string> (*variable)(const char* name));

}  // namespace latecomer
