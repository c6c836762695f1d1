// Strict reading of numbers with units, and writing. Every reader throws Error naming `what` and
// the text. Nothing here depends on the program's locale, nor may any other number that is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

[[nodiscard]] double parse_number(std::string_view what, std::string_view text);
/// Reads "4Mi" too; the count must be at least `min`.
[[nodiscard]] Count parse_count(std::string_view what, std::string_view text, Count min = 0);
/// Likewise of ranks or nodes, of which there are as many as 32 bits count.
[[nodiscard]] Rank parse_rank(std::string_view what, std::string_view text, Rank min);
[[nodiscard]] Count parse_bytes(std::string_view what, std::string_view text);      // "64KiB"
[[nodiscard]] Seconds parse_seconds(std::string_view what, std::string_view text);  // "50us"
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// The shortest text that reads back as the same value.
[[nodiscard]] std::string format_number(double value);
/// With so many decimals, as %.2f has them in the locale "C".
[[nodiscard]] std::string format_fixed(double value, int decimals);
/// With so many digits at most, as %.4g has them in the locale "C".
[[nodiscard]] std::string format_digits(double value, int digits);
/// 42 as "2a", with so many digits at least.
[[nodiscard]] std::string format_hex(std::uint64_t value, int digits = 1);

// A list of factors, "12x2x2", as one number, so that it can be a parameter.

/// Throws Error where the factors are too many or too large for 62 bits.
[[nodiscard]] Count encode_factors(const std::vector<Count>& factors);
/// Throws Error for a number that encodes no factors.
[[nodiscard]] std::vector<Count> decode_factors(Count code);

/// Reads "12x2x2". Throws Error naming the part that is no factor.
[[nodiscard]] std::vector<Count> parse_factors(std::string_view what, std::string_view text);
[[nodiscard]] std::string factors_text(const std::vector<Count>& factors);

/// The codes of lists start here; smaller numbers are free for names.
inline constexpr Count kFirstFactors = 8;

}  // namespace latecomer
