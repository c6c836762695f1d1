// What the environment says.
#pragma once

#include <string>

namespace latecomer {

/// "0" or "1" of the variable; false where it is not set. Anything else is reported on stderr,
/// once, and not used.
[[nodiscard]] bool environment_flag(const char* variable);

/// On stderr, once a process and variable: it is not used, and why.
void report_unused(const char* variable, const std::string& why);

}  // namespace latecomer
