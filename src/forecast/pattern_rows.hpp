// Patterns in little memory: 2 bytes a rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// Rows of one pattern each, to 1/65535 of its imbalance or better.
class PatternRows {
 public:
  /// All rows are 0 everywhere.
  PatternRows(Rank ranks, int rows);

  [[nodiscard]] std::size_t ranks() const { return ranks_; }
  void write(int row, std::span<const float> pattern);
  /// Reads as many ranks as fit into `pattern`, from rank `first` on.
  void read(int row, std::span<float> pattern, std::size_t first = 0) const;
  /// Adds the row to `sum`.
  void add(int row, std::span<float> sum) const;
  void clear(int row);

  /// The memory that so many rows take, bytes.
  [[nodiscard]] static std::size_t memory(Rank ranks, int rows) {
    return static_cast<std::size_t>(rows) *
           (static_cast<std::size_t>(ranks) * sizeof(std::uint16_t) + sizeof(Scale));
  }

 private:
  /// A rank's value is first + step * part.
  struct Scale {
    float first = 0;
    float step = 0;
  };

  [[nodiscard]] const std::uint16_t* parts(int row) const {
    return parts_.data() + static_cast<std::size_t>(row) * ranks_;
  }

  std::size_t ranks_;
  std::vector<Scale> scales_;
  std::vector<std::uint16_t> parts_;
};

/// Temporary patterns.
enum class ScratchRow { lateness, computing, expected, blended, before, moved };
/// The calling thread's temporary pattern, valid until it asks for the same one again.
[[nodiscard]] std::span<float> scratch_row(ScratchRow which, std::size_t ranks);

}  // namespace latecomer
