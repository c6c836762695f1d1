// The last patterns of a history, in a ring, and their exponential mean.
#pragma once

#include <algorithm>

#include "forecast/pattern_rows.hpp"

namespace latecomer {

class PatternHistory {
 public:
  static constexpr int kLongest = 32;  // patterns kept at most

  explicit PatternHistory(Rank ranks, int depth = kLongest)
      : depth_(depth), rows_(ranks, depth + 1) {}

  void add(std::span<const float> pattern);

  /// Notes that calls were left out since the last pattern.
  void note_gap() { in_a_row_ = 0; }

  [[nodiscard]] std::size_t ranks() const { return rows_.ranks(); }
  /// The number of patterns kept in the end.
  [[nodiscard]] int depth() const { return depth_; }
  /// The number of patterns kept.
  [[nodiscard]] int size() const { return std::min(seen_, depth_); }
  /// The number of them since calls were left out.
  [[nodiscard]] int in_a_row() const { return in_a_row_; }
  /// The pattern so many calls ago: 1 is the last one, size() the oldest; from the
  /// rank `first` on.
  void read(int calls, std::span<float> pattern, std::size_t first = 0) const {
    rows_.read(ago(calls), pattern, first);
  }
  void add_to(std::span<float> sum, int calls) const { rows_.add(ago(calls), sum); }
  /// The mean of all patterns, in which each weighs 3/4 of the next.
  void read_exponential_average(std::span<float> pattern) const { rows_.read(depth_, pattern); }

  [[nodiscard]] static std::size_t memory(Rank ranks, int depth) {
    return PatternRows::memory(ranks, depth + 1);
  }

 private:
  [[nodiscard]] int ago(int calls) const {
    const int row = next_ - calls;
    return row < 0 ? row + depth_ : row;
  }

  int depth_;
  int seen_ = 0;      // up to depth_
  int in_a_row_ = 0;  // the same
  int next_ = 0;      // the row that the next pattern goes to
  PatternRows rows_;  // the last one is the exponential mean
};

}  // namespace latecomer
