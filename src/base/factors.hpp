// A list of factors, "12x2x2", as one number, so that it can be a parameter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

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
