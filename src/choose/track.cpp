#include "choose/track.hpp"

#include <algorithm>

namespace latecomer {

void Track::use(std::uint64_t call) {
  ++uses_;
  last_use_ = call;
}

void Track::learn(double ratio) { ratios_[seen_++ % kWindow] = static_cast<float>(ratio); }

double Track::factor(double usual, std::size_t doubts) const {
  std::array<float, kWindow> all = ratios_;
  std::size_t count = std::min(seen_, kWindow);
  for (; doubts > 0 && count < kWindow; --doubts) all[count++] = static_cast<float>(usual);
  if (count == 0) return usual;
  const auto median = all.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  std::nth_element(all.begin(), median, all.begin() + static_cast<std::ptrdiff_t>(count));
  return *median;
}

std::uint64_t Track::next(double worse) const {
  constexpr double kLoss = 0.01;
  const double excess = std::clamp(worse - 1, 0.0, 1e6);
  const auto pause = static_cast<std::uint64_t>(static_cast<double>(kSamples) * excess / kLoss);
  return last_use_ + (std::max(pause, kFirstPause) << std::min(doublings_, kMostDoublings));
}

void Track::renew() {
  seen_ = 0;
  uses_ = 0;
  ++doublings_;
}

}  // namespace latecomer
