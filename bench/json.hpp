// The parts of JSON lines.
#pragma once

#include <string>

namespace bench {

[[nodiscard]] std::string quoted(const std::string& text);
[[nodiscard]] std::string number(double value);  // to a billionth
/// A member of an object that is not its last one.
[[nodiscard]] inline std::string field(const char* name, const std::string& value) {
  return std::string("\"") + name + "\":" + value + ',';
}

template <class Range, class Convert>
std::string list(const Range& range, Convert convert) {
  std::string text = "[";
  for (const auto& item : range) text += (text.size() == 1 ? "" : ",") + convert(item);
  return text + ']';
}

}  // namespace bench
