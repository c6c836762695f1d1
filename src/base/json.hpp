// JSON texts: writing their parts, and a strict reader.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.hpp"

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

// A strict reader of small JSON texts (RFC 8259) that may be hostile: no extensions, no key twice,
// and limits on all that could grow.

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, number, text, list, object };
  using Member = std::pair<std::string, JsonValue>;

  Kind kind = Kind::null;
  int line = 1;  // where it begins
  bool boolean = false;
  double number = 0;
  std::string text = {};              // NOLINT(readability-redundant-member-init)
  std::vector<JsonValue> items = {};  // NOLINT(readability-redundant-member-init): of a list
  std::vector<Member> members = {};   // NOLINT(readability-redundant-member-init): of an object
};

struct JsonLimits {
  std::size_t bytes = 256 << 10;
  int depth = 8;  // lists and objects in each other
  std::size_t values = 32768;
  std::size_t members = 64;       // of an object
  std::size_t text_bytes = 1024;  // of a string, once escapes are replaced
};

/// `name`: of the file, for messages. Throws Error, which names the line.
[[nodiscard]] JsonValue read_json(std::string_view text, std::string_view name,
                                  const JsonLimits& limits);

/// A value in a message: short, and without control characters.
[[nodiscard]] std::string shown(const JsonValue& value);

}  // namespace latecomer
