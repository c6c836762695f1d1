// Environment variables, and the current folder, as they were when the library began: the program
// may change both at any time, also while another of its threads calls the library.
#pragma once

#include <optional>
#include <string>

namespace latecomer {

/// Notes the variables, the current folder, and which file stderr is. To be called where the
/// library begins; otherwise the first one who asks for a variable does it.
void note_surroundings();

/// The variable's value then. An empty one counts as not set; so do all variables in a program that
/// runs with more rights than its caller has (set-user-id).
[[nodiscard]] std::optional<std::string> environment(const char* variable);

/// The name of a file that a variable gives, relative to the folder that was current then.
[[nodiscard]] std::string from_first_folder(const std::string& name);

/// "0" or "1" of the variable; false where it is not set. Anything else is reported on stderr,
/// once, and not used.
[[nodiscard]] bool environment_flag(const char* variable);

/// True if LATECOMER_LOG asks for more than warnings.
[[nodiscard]] bool logs_info();

/// True if the variable is set and was not reported as unused.
[[nodiscard]] bool is_used(const char* variable);

/// Reports on stderr that the variable is not used, and why. Once for each job and variable: rank 0
/// of MPI_COMM_WORLD reports for all. Not before MPI_Init.
void report_unused(const char* variable, const std::string& why);

}  // namespace latecomer
