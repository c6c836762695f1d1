// Texts from outside: names and values of the program, of files and of the environment.
#pragma once

#include <string>
#include <string_view>

namespace latecomer {

/// Bytes of the character of UTF-8 that the text begins with (RFC 3629, section 4); 0: it is none.
[[nodiscard]] std::size_t utf8_character(std::string_view text);
[[nodiscard]] bool is_utf8(std::string_view text);

/// Writes control characters, which could act on a terminal, and bytes that are no UTF-8 as
/// "\\xff".
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace latecomer
