// The parts of a JSON text.
#pragma once

#include <string>
#include <string_view>

namespace latecomer {

/// A JSON string of the text, with quotes. Bytes that are no UTF-8 become the replacement character
/// (U+FFFD).
[[nodiscard]] std::string json_quoted(std::string_view text);

/// "[a,b]" of the texts that `convert` makes of the items.
template <class Range, class Convert>
std::string json_list(const Range& range, Convert convert) {
  std::string text = "[";
  for (const auto& item : range) {
    if (text.size() > 1) text += ',';
    text += convert(item);
  }
  return text + ']';
}

}  // namespace latecomer
