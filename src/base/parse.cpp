#include "base/parse.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"

namespace latecomer {
namespace {

using Units = std::initializer_list<std::pair<std::string_view, double>>;

constexpr double kKi = 1024.0;

/// Splits "4MiB" into 4 and "MiB"; the number may have a fraction and an exponent.
std::pair<double, std::string_view> number_and_unit(std::string_view what, std::string_view text,
                                                    const std::string& remedy) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value)) {
    throw Error(std::string(what), std::string(text), remedy);
  }
  return {value, std::string_view(rest, static_cast<std::size_t>(end - rest))};
}

double scaled(std::string_view what, std::string_view text, Units units,
              const std::string& remedy) {
  const auto [value, unit] = number_and_unit(what, text, remedy);
  for (const auto& [name, factor] : units) {
    // 1e6 is a double and 1e-6 is none: a quotient gives the double that is nearest to 50us.
    if (name == unit) return factor < 1 ? value / std::round(1 / factor) : value * factor;
  }
  throw Error(std::string(what), std::string(text), remedy);
}

Count whole(std::string_view what, std::string_view text, double value, const std::string& remedy,
            Count min = 0) {
  // Above 2^53 a double no longer holds every whole number.
  if (value > 0x1.0p53) {
    throw Error(std::string(what), std::string(text), remedy + ", at most 9007199254740992");
  }
  if (value < static_cast<double>(min) || value != std::floor(value)) {
    throw Error(std::string(what), std::string(text), remedy);
  }
  return static_cast<Count>(value);
}

template <class... Arguments>
std::string written(Arguments... arguments) {
  std::array<char, 400> text{};  // 10^308 has 309 digits, and decimals may follow
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), arguments...);
  return {text.data(), end};
}

constexpr int kBits = 62;

/// The bits of a factor after its first 1.
int tail(Count factor) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(factor))) - 1;
}

/// Reads a number from its highest bit down.
class Bits {
 public:
  explicit Bits(Count code) : code_(static_cast<std::uint64_t>(code)), left_(tail(code)) {}

  [[nodiscard]] bool more() const { return left_ > 0; }
  std::uint64_t next() { return more() ? code_ >> --left_ & 1U : 1; }

 private:
  std::uint64_t code_;
  int left_;  // bits after the leading 1 that were not read
};

}  // namespace

double parse_number(std::string_view what, std::string_view text) {
  return scaled(what, text, {{"", 1.0}}, "a number such as 0.5");
}

Count parse_count(std::string_view what, std::string_view text, Count min) {
  const std::string remedy =
      "a whole number from " + std::to_string(min) + " up such as 1000, 64Ki, 1Mi or 4G";
  const Units units = {{"", 1.0},  {"k", 1e3},  {"K", 1e3},        {"M", 1e6},
                       {"G", 1e9}, {"Ki", kKi}, {"Mi", kKi * kKi}, {"Gi", kKi * kKi * kKi}};
  return whole(what, text, scaled(what, text, units, remedy), remedy, min);
}

Rank parse_rank(std::string_view what, std::string_view text, Rank min) {
  constexpr Rank kMax = std::numeric_limits<Rank>::max();
  const Count count = parse_count(what, text);
  if (count >= min && count <= kMax) return static_cast<Rank>(count);
  throw Error(std::string(what), std::string(text),
              std::to_string(min) + " to " + std::to_string(kMax));
}

Count parse_bytes(std::string_view what, std::string_view text) {
  const std::string remedy = "a size from 0 up such as 4096, 64KiB, 4MiB or 1GB";
  constexpr double kMi = kKi * kKi;
  const Units units = {{"", 1.0},          {"B", 1.0},        {"KB", 1e3},  {"kB", 1e3},
                       {"MB", 1e6},        {"GB", 1e9},       {"TB", 1e12}, {"K", kKi},
                       {"M", kMi},         {"G", kMi * kKi},  {"KiB", kKi}, {"MiB", kMi},
                       {"GiB", kMi * kKi}, {"TiB", kMi * kMi}};
  return whole(what, text, scaled(what, text, units, remedy), remedy);
}

Seconds parse_seconds(std::string_view what, std::string_view text) {
  const std::string remedy =
      "0, or a time with its unit (s, ms, us or ns) such as 8ns, 50us, 5ms or 1.5s";
  const Units units = {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  if (text == "0") return 0;
  const double value = scaled(what, text, units, remedy);
  if (value < 0) throw Error(std::string(what), std::string(text), remedy);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string format_number(double value) { return written(value); }

std::string format_fixed(double value, int decimals) {
  return written(value, std::chars_format::fixed, decimals);
}

std::string format_digits(double value, int digits) {
  return written(value, std::chars_format::general, digits);
}

std::string format_hex(std::uint64_t value, int digits) {
  const std::string text = written(value, 16);
  const auto wanted = static_cast<std::size_t>(digits);
  return (text.size() < wanted ? std::string(wanted - text.size(), '0') : "") + text;
}

// The code is a leading 1, then each factor in Elias' gamma code: as many zeros as it has bits
// after its first 1, then all its bits.
Count encode_factors(const std::vector<Count>& factors) {
  Count code = 1;
  int used = 1;
  for (const Count factor : factors) {
    if (factor >= 2) used += 2 * tail(factor) + 1;
    if (factor < 2 || used > kBits) {
      throw Error("factors", factors_text(factors), "fewer of them, each from 2 up");
    }
    code = code << (2 * tail(factor) + 1) | factor;
  }
  return code;
}

std::vector<Count> decode_factors(Count code) {
  std::vector<Count> factors;
  if (code < kFirstFactors) throw Error("factors", std::to_string(code), "the code of a list");
  for (Bits bits(code); bits.more();) {
    int zeros = 0;
    while (bits.next() == 0) ++zeros;
    Count factor = 1;
    for (int i = 0; i < zeros; ++i) factor = factor << 1 | static_cast<Count>(bits.next());
    factors.push_back(factor);
  }
  if (encode_factors(factors) != code) {
    throw Error("factors", std::to_string(code), "the code of a list");
  }
  return factors;
}

std::vector<Count> parse_factors(std::string_view what, std::string_view text) {
  std::vector<Count> factors;
  for (const std::string_view part : split(text, 'x')) factors.push_back(parse_count(what, part));
  return factors;
}

std::string factors_text(const std::vector<Count>& factors) {
  std::string text;
  for (const Count factor : factors) {
    if (!text.empty()) text += 'x';
    text += std::to_string(factor);
  }
  return text;
}

}  // namespace latecomer
