#include "base/json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace latecomer {
namespace {

std::string escaped(char c) {
  if (c == '"' || c == '\\') return {'\\', c};
  if (static_cast<unsigned char>(c) >= ' ') return {c};
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(c));
  return text.data();
}

unsigned at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

/// Bytes of the character of UTF-8 that the text begins with (RFC 3629, section 4); 0: it is none.
std::size_t character(std::string_view text) {
  const unsigned first = at(text, 0);
  const unsigned second = at(text, 1);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (size == 0 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(text, i) & 0xc0U) != 0x80) return 0;
  }
  const bool longer_than_needed =
      (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_character = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return longer_than_needed || no_character ? 0 : size;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = character(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t size = character(text);
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
