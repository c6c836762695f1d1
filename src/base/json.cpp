#include "base/json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/utf8.hpp"

namespace latecomer {
namespace {

std::string escaped(char c) {
  if (c == '"' || c == '\\') return {'\\', c};
  if (static_cast<unsigned char>(c) >= ' ') return {c};
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(c));
  return text.data();
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
