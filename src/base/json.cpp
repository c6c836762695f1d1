#include "base/json.hpp"

#include <algorithm>

#include "base/parse.hpp"
#include "base/utf8.hpp"

namespace latecomer {
namespace {

std::string escaped(char c) {
  if (c == '"' || c == '\\') return {'\\', c};
  if (static_cast<unsigned char>(c) >= ' ') return {c};
  return "\\u" + format_hex(static_cast<unsigned char>(c), 4);
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t size = utf8_character(text);
    if (size == 0) {
      out += "\\ufffd";
    } else {
      out += size == 1 ? escaped(text.front()) : std::string(text.substr(0, size));
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out + '"';
}

}  // namespace latecomer
