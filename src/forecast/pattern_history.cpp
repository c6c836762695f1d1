#include "forecast/pattern_history.hpp"

namespace latecomer {

void PatternHistory::add(std::span<const float> pattern) {
  constexpr float kWeight = 0.25;
  rows_.write(next_, pattern);
  next_ = (next_ + 1) % depth_;
  if (seen_ == 0) {
    rows_.write(depth_, pattern);
  } else {
    const std::span<float> average = scratch_row(ScratchRow::blended, pattern.size());
    rows_.read(depth_, average);
    for (std::size_t rank = 0; rank < average.size(); ++rank) {
      average[rank] += kWeight * (pattern[rank] - average[rank]);
    }
    rows_.write(depth_, average);
  }
  seen_ = std::min(seen_ + 1, depth_);
  in_a_row_ = std::min(in_a_row_ + 1, depth_);
}

}  // namespace latecomer
