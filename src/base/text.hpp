// Texts: those from outside, and those that grow.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latecomer {

// Texts from outside: names and values of the program, of files and of the environment.

/// Bytes of the character of UTF-8 that the text begins with (RFC 3629, section 4); 0: it is none.
[[nodiscard]] std::size_t utf8_character(std::string_view text);
[[nodiscard]] bool is_utf8(std::string_view text);

/// Writes control characters, which could act on a terminal, and bytes that are no UTF-8 as
/// "\\xff".
[[nodiscard]] std::string printable(std::string_view text);

[[nodiscard]] constexpr std::string_view yes_no(bool value) { return value ? "yes" : "no"; }

/// A text that grows piece by piece. Numbers are written the same whatever the program's locale is,
/// which a stream of the standard library would follow.
class TextOut {
 public:
  TextOut& operator<<(std::string_view words) {
    text_ += words;
    return *this;
  }
  TextOut& operator<<(char c) {
    text_ += c;
    return *this;
  }
  template <std::integral Number>
  TextOut& operator<<(Number number) {
    text_ += std::to_string(number);
    return *this;
  }
  /// A line: the title, and the numbers; nothing where there are none.
  template <std::integral Number>
  void list(std::string_view title, const std::vector<Number>& numbers) {
    if (numbers.empty()) return;
    *this << title;
    for (const Number number : numbers) *this << ' ' << number;
    *this << '\n';
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace latecomer
