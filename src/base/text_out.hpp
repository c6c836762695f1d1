// A text that grows piece by piece. Numbers are written the same whatever the program's locale is,
// which a stream of the standard library would follow.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace latecomer {

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
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace latecomer
