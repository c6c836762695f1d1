// The message behind latecomer_last_error(): of this thread's last error.
#pragma once

#include <string>

namespace latecomer {

void set_last_error(std::string message);
/// "" if there was none. Valid until the thread's next error.
[[nodiscard]] const char* last_error();

}  // namespace latecomer
