// The last patterns of a history, in a ring.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

class PatternHistory {
 public:
  static constexpr int kLongest = 32;  // patterns kept

  explicit PatternHistory(Rank ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  void add(std::span<const Seconds> pattern) {
    const std::size_t row = seen_++ % kLongest;
    if (values_.size() <= row * ranks_) values_.resize((row + 1) * ranks_);
    std::copy(pattern.begin(), pattern.end(), values_.begin() + offset(row));
  }
  [[nodiscard]] std::size_t ranks() const { return ranks_; }
  /// The number of patterns kept.
  [[nodiscard]] int size() const {
    return static_cast<int>(std::min<std::size_t>(seen_, kLongest));
  }
  /// The pattern so many calls ago: 1 is the last one, size() the oldest.
  [[nodiscard]] std::span<const Seconds> ago(int calls) const {
    const std::size_t row = (seen_ - static_cast<std::size_t>(calls)) % kLongest;
    return {values_.data() + offset(row), ranks_};
  }

 private:
  [[nodiscard]] std::ptrdiff_t offset(std::size_t row) const {
    return static_cast<std::ptrdiff_t>(row * ranks_);
  }

  std::size_t ranks_;
  std::size_t seen_ = 0;
  std::vector<Seconds> values_;
};

}  // namespace latecomer
