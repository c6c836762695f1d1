#include "arrival/averages.hpp"

namespace latecomer {

void moving_average(const PatternHistory& history, std::span<Seconds> next) {
  const int calls = std::min(history.size(), kAveraged);
  std::fill(next.begin(), next.end(), 0.0);
  for (int ago = 1; ago <= calls; ++ago) {
    const auto pattern = history.ago(ago);
    for (std::size_t rank = 0; rank < next.size(); ++rank) next[rank] += pattern[rank];
  }
  for (Seconds& time : next) time /= calls;
}

void ExponentialAverage::add(std::span<const Seconds> pattern) {
  const double weight = empty_ ? 1 : 0.25;
  empty_ = false;
  for (std::size_t rank = 0; rank < average_.size(); ++rank) {
    average_[rank] += weight * (pattern[rank] - average_[rank]);
  }
}

void ExponentialAverage::predict(std::span<Seconds> next) const {
  std::copy(average_.begin(), average_.end(), next.begin());
}

}  // namespace latecomer
