// Strict reading of the values of a command line. Every function throws UsageError.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "usage_error.hpp"

namespace bench {

[[noreturn]] void refuse(const std::string& name, const std::string& value, const char* remedy);
[[nodiscard]] std::int64_t whole(const std::string& name, const std::string& text,
                                 std::int64_t least,
                                 std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// As many as an int holds, at most.
[[nodiscard]] int whole_int(const std::string& name, const std::string& text, int least);
/// From 0 to `most`: a part if that is 1, else seconds.
[[nodiscard]] double real(const std::string& name, const std::string& text, double most);

}  // namespace bench
