#include "base/factors.hpp"

#include <bit>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer {
namespace {

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
