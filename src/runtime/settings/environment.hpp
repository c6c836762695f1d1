// Environment variables.
#pragma once

#include <optional>
#include <string>

namespace latecomer {

/// The variable's value. An empty one counts as not set; so do all variables in a program that runs
/// with more rights than its caller has (set-user-id).
[[nodiscard]] std::optional<std::string> environment(const char* variable);

/// "0" or "1" of the variable; false where it is not set. Anything else is reported on stderr,
/// once, and not used.
[[nodiscard]] bool environment_flag(const char* variable);

/// True if the variable is set and was not reported as unused.
[[nodiscard]] bool is_used(const char* variable);

/// Reports on stderr that the variable is not used, and why. Once for each job and variable: rank 0
/// of MPI_COMM_WORLD reports for all. Not before MPI_Init.
void report_unused(const char* variable, const std::string& why);

}  // namespace latecomer
