// Strict reading of numbers with units. Every function throws Error naming `what` and the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

[[nodiscard]] double parse_number(std::string_view what, std::string_view text);
/// Reads "4Mi" too; the count must be at least `min`.
[[nodiscard]] Count parse_count(std::string_view what, std::string_view text, Count min = 0);
[[nodiscard]] Count parse_bytes(std::string_view what, std::string_view text);      // "64KiB"
[[nodiscard]] Seconds parse_seconds(std::string_view what, std::string_view text);  // "50us"
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// The shortest text that reads back as the same value.
[[nodiscard]] std::string format_number(double value);

}  // namespace latecomer
