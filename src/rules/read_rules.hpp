// Reads rules from a text (docs/rules.md describes the form). A file may be hostile: the text is
// checked in full, with limits on all that could grow, before any of it is used.
#pragma once

#include <string_view>

#include "rules/rules.hpp"

namespace latecomer {

inline constexpr std::size_t kMaxRulesBytes = 256 << 10;

/// `name`: of the file, for messages. Throws Error naming file, line, key and value.
[[nodiscard]] UserRules read_rules(std::string_view text, std::string_view name);

}  // namespace latecomer
