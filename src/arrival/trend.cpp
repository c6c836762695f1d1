#include "arrival/trend.hpp"

#include <array>

namespace latecomer {
namespace {

using Window = std::array<Seconds, kTrendCalls>;

/// Of the first `count` values, which it sorts.
Seconds median(Window& values, int count) {
  std::sort(values.begin(), values.begin() + count);
  const auto middle = static_cast<std::size_t>(count / 2);
  return count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// The next of `count` values, the oldest first.
Seconds extrapolate(const Window& values, int count) {
  const int half = count / 2;
  Window slopes{};
  for (int i = 0; i + half < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    slopes[at] = (values[at + static_cast<std::size_t>(half)] - values[at]) / half;
  }
  const Seconds slope = median(slopes, count - half);
  Window heights{};
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    heights[at] = values[at] + slope * (count - i);
  }
  return median(heights, count);
}

}  // namespace

void trend(const PatternHistory& history, std::span<Seconds> next) {
  const int calls = std::min(history.size(), kTrendCalls);
  Window values{};
  for (std::size_t rank = 0; rank < next.size(); ++rank) {
    for (int i = 0; i < calls; ++i) {
      values[static_cast<std::size_t>(i)] = history.ago(calls - i)[rank];
    }
    next[rank] = extrapolate(values, calls);
  }
}

}  // namespace latecomer
