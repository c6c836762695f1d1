#include "base/text.hpp"

#include <algorithm>

#include "base/parse.hpp"

namespace latecomer {
namespace {

unsigned at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

/// True for a character that terminals may obey: those of ASCII, and C1's.
bool is_control(std::string_view character) {
  const unsigned first = at(character, 0);
  if (character.size() == 1) return first < ' ' || first == 127;
  return first == 0xc2 && at(character, 1) < 0xa0;
}

void add_escaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) out += "\\x" + format_hex(static_cast<unsigned char>(c), 2);
}

}  // namespace

std::size_t utf8_character(std::string_view text) {
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

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_character(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = utf8_character(text);
    const std::string_view next = text.substr(0, std::max<std::size_t>(size, 1));
    if (size == 0 || is_control(next)) {
      add_escaped(out, next);
    } else {
      out += next;
    }
    text.remove_prefix(next.size());
  }
  return out;
}

}  // namespace latecomer
