// What the numbers of a trace file stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace latecomer::trace {

/// Numbers of texts or communicators with a value each; most are small.
class Numbered {
 public:
  /// `usual`: numbers below are found at once.
  explicit Numbered(std::size_t usual) : usual_(usual) {}

  void set(std::uint32_t number, std::int32_t value) {
    if (number >= usual_) {
      others_[number] = value;
      return;
    }
    if (number >= values_.size()) values_.resize(number + std::size_t{1}, kNone);
    values_[number] = value;
  }
  /// The value; kNone: there is no such number.
  [[nodiscard]] std::int32_t operator[](std::uint32_t number) const {
    if (number < values_.size()) return values_[number];
    if (others_.empty()) return kNone;
    const auto found = others_.find(number);
    return found == others_.end() ? kNone : found->second;
  }
  [[nodiscard]] bool has(std::uint32_t number) const { return (*this)[number] != kNone; }

  static constexpr std::int32_t kNone = -1;

 private:
  std::size_t usual_;
  std::vector<std::int32_t> values_;
  std::unordered_map<std::uint32_t, std::int32_t> others_;
};

}  // namespace latecomer::trace
