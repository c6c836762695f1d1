#include "forecast/pattern_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/per_thread.hpp"
#include "forecast/pattern.hpp"

namespace latecomer {
namespace {

constexpr float kParts = 65535;
constexpr int kMinExponent = -100;  // a step so small is nothing

/// The least power of two that `kParts` steps of reach `range` with.
int step_exponent(float range) {
  int exponent = 0;
  const float fraction = std::frexp(range / kParts, &exponent);
  if (fraction == 0.5F) --exponent;
  return std::max(exponent, kMinExponent);
}

}  // namespace

PatternRows::PatternRows(Rank ranks, int rows)
    : ranks_(static_cast<std::size_t>(ranks)),
      scales_(static_cast<std::size_t>(rows)),
      parts_(static_cast<std::size_t>(rows) * ranks_) {}

void PatternRows::write(int row, std::span<const float> pattern) {
  const auto [first, last] = extremes_of(pattern);
  const int exponent = step_exponent(last - first);
  const float per_step = std::ldexp(1.0F, -exponent);
  std::uint16_t* parts = parts_.data() + static_cast<std::size_t>(row) * ranks_;
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    parts[rank] = static_cast<std::uint16_t>(nearest((pattern[rank] - first) * per_step));
  }
  scales_[static_cast<std::size_t>(row)] = {first, std::ldexp(1.0F, exponent)};
}

void PatternRows::read(int row, std::span<float> pattern, std::size_t first) const {
  const Scale scale = scales_[static_cast<std::size_t>(row)];
  const std::uint16_t* from = parts(row) + first;
  for (std::size_t rank = 0; rank < pattern.size(); ++rank) {
    pattern[rank] = scale.first + scale.step * static_cast<float>(static_cast<int>(from[rank]));
  }
}

void PatternRows::add(int row, std::span<float> sum) const {
  const Scale scale = scales_[static_cast<std::size_t>(row)];
  const std::uint16_t* from = parts(row);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    sum[rank] += scale.first + scale.step * static_cast<float>(static_cast<int>(from[rank]));
  }
}

void PatternRows::clear(int row) {
  scales_[static_cast<std::size_t>(row)] = {};
  std::fill_n(parts_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * ranks_),
              ranks_, std::uint16_t{0});
}

std::span<float> scratch_row(ScratchRow which, std::size_t ranks) {
  constexpr std::size_t kRooms = static_cast<std::size_t>(ScratchRow::moved) + 1;
  using Rooms = PerThread<ScratchRow, std::array<std::vector<float>, kRooms>>;
  std::vector<float>& values = Rooms::get()[static_cast<std::size_t>(which)];
  if (values.size() < ranks) values.resize(ranks);
  return {values.data(), ranks};
}

}  // namespace latecomer
