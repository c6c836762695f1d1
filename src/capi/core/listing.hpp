// The registry as JSON, for the C API and scripts.
#pragma once

#include <string>

namespace latecomer {

[[nodiscard]] std::string registry_as_json();

}  // namespace latecomer
