#include "base/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/text.hpp"

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

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Short, and nothing that a terminal takes for a command.
std::string visible(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string out(text.substr(0, kMost));
  for (char& c : out) c = c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kMost ? "..." : "");
}

void append_utf8(std::string& to, unsigned code) {
  const auto add = [&](unsigned byte) { to += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view name, const JsonLimits& limits)
      : text_(text), name_(name), limits_(limits) {}

  JsonValue read() {
    JsonValue value = read_value(0);
    skip_space();
    if (at_ < text_.size()) refuse("the end of the file");
    return value;
  }

 private:
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] std::string where() const {
    return std::string(name_) + ", line " + std::to_string(line_);
  }

  /// Throws Error about the character at hand.
  [[noreturn]] void refuse(const std::string& right) const {
    const bool ended = at_ >= text_.size();
    throw Error(where(), ended ? "the end of the file" : visible(text_.substr(at_, 1)), right);
  }
  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
    }
  }
  void expect(char c, const char* right) {
    if (at_ >= text_.size() || text_[at_] != c) refuse(right);
    ++at_;
  }

  JsonValue read_value(int depth) {
    skip_space();
    if (++values_ > limits_.values) {
      throw Error(where() + ", values so far", std::to_string(values_),
                  "at most " + std::to_string(limits_.values) + " of them");
    }
    JsonValue value;
    value.line = line_;
    const char c = next();
    if (c == '{' || c == '[') {
      if (depth >= limits_.depth) {
        throw Error(where() + ", lists and objects in each other", std::to_string(depth + 1),
                    "at most " + std::to_string(limits_.depth));
      }
      return c == '{' ? read_object(std::move(value), depth) : read_list(std::move(value), depth);
    }
    if (c == '"') {
      value.kind = JsonValue::Kind::text;
      value.text = read_text();
    } else if (c == '-' || is_digit(c)) {
      value.kind = JsonValue::Kind::number;
      value.number = read_number();
    } else {
      read_word(value);
    }
    return value;
  }

  JsonValue read_object(JsonValue value, int depth) {
    value.kind = JsonValue::Kind::object;
    ++at_;
    skip_space();
    if (next() == '}') return ++at_, value;
    while (true) {
      skip_space();
      if (next() != '"') refuse("a key in double quotes");
      std::string key = read_text();
      const auto same = [&](const JsonValue::Member& each) { return each.first == key; };
      if (std::ranges::any_of(value.members, same)) {
        throw Error(where() + ", key", visible(key), "a key once");
      }
      if (value.members.size() >= limits_.members) {
        throw Error(where() + ", keys of an object", "more than " + std::to_string(limits_.members),
                    "at most so many");
      }
      skip_space();
      expect(':', "a colon");
      value.members.emplace_back(std::move(key), read_value(depth + 1));
      skip_space();
      if (next() == '}') return ++at_, value;
      expect(',', "a comma or }");
    }
  }

  JsonValue read_list(JsonValue value, int depth) {
    value.kind = JsonValue::Kind::list;
    ++at_;
    skip_space();
    if (next() == ']') return ++at_, value;
    while (true) {
      value.items.push_back(read_value(depth + 1));
      skip_space();
      if (next() == ']') return ++at_, value;
      expect(',', "a comma or ]");
    }
  }

  void read_word(JsonValue& value) {
    const auto is = [&](std::string_view word) {
      if (text_.substr(at_, word.size()) != word) return false;
      at_ += word.size();
      return true;
    };
    if (is("null")) return;
    const bool yes = is("true");
    if (!yes && !is("false")) refuse("a value: a number, a text in double quotes, [ or {");
    value.kind = JsonValue::Kind::boolean;
    value.boolean = yes;
  }

  void skip_digits() {
    if (!is_digit(next())) refuse("a digit");
    while (is_digit(next())) ++at_;
  }
  double read_number() {
    const std::size_t begin = at_;
    if (next() == '-') ++at_;
    const bool zero = next() == '0';
    skip_digits();
    if (zero && at_ - begin > (text_[begin] == '-' ? 2U : 1U)) {
      throw Error(where() + ", number", "0...", "one without a leading zero");
    }
    if (next() == '.') ++at_, skip_digits();
    if (next() == 'e' || next() == 'E') {
      ++at_;
      if (next() == '+' || next() == '-') ++at_;
      skip_digits();
    }
    double number = 0;
    const auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + at_, number);
    if (error != std::errc() || end != text_.data() + at_ || !std::isfinite(number)) {
      throw Error(where() + ", number of " + std::to_string(at_ - begin) + " digits",
                  std::string(text_.substr(begin, std::min<std::size_t>(at_ - begin, 24))),
                  "one that a double can hold");
    }
    return number;
  }

  unsigned read_hex() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = next();
      const unsigned digit = is_digit(c)            ? static_cast<unsigned>(c - '0')
                             : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                             : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                    : 16U;
      if (digit > 15) refuse("four hexadecimal digits");
      code = code << 4 | digit;
    }
    return code;
  }
  void read_escape(std::string& to) {
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    const auto found = next() == '\0' ? std::string_view::npos : kFrom.find(next());
    if (found != std::string_view::npos) return ++at_, to += kTo[found], void();
    expect('u', "one of the escapes of JSON");
    unsigned code = read_hex();
    if (code >= 0xdc00 && code < 0xe000) refuse("a first half of a character before a second");
    if (code >= 0xd800 && code < 0xdc00) {
      expect('\\', "the second half of the character");
      expect('u', "the second half of the character");
      const unsigned low = read_hex();
      if (low < 0xdc00 || low >= 0xe000) refuse("the second half of the character");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(to, code);
  }
  std::string read_text() {
    ++at_;
    std::string out;
    while (next() != '"' || at_ >= text_.size()) {
      if (at_ >= text_.size() || static_cast<unsigned char>(next()) < ' ') {
        refuse("a text that ends in its line, with escapes for control characters");
      }
      if (next() == '\\') {
        ++at_;
        read_escape(out);
      } else {
        out += text_[at_++];
      }
      if (out.size() > limits_.text_bytes) {
        throw Error(where() + ", bytes of a text",
                    "more than " + std::to_string(limits_.text_bytes), "at most so many");
      }
    }
    ++at_;
    if (!is_utf8(out)) throw Error(where() + ", text", "bytes that are no UTF-8", "UTF-8");
    return out;
  }

  std::string_view text_;
  std::string_view name_;
  JsonLimits limits_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::size_t values_ = 0;
};

}  // namespace

JsonValue read_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    throw Error(std::string(name) + ", bytes", std::to_string(text.size()),
                "at most " + std::to_string(limits.bytes));
  }
  return Reader(text, name, limits).read();
}

std::string shown(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return value.boolean ? "true" : "false";
    case JsonValue::Kind::number:
      return format_number(value.number);
    case JsonValue::Kind::list:
      return "a list";
    case JsonValue::Kind::object:
      return "an object";
    case JsonValue::Kind::text:
      break;
  }
  return visible(value.text);
}

}  // namespace latecomer
