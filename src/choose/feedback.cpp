#include "choose/feedback.hpp"

#include <algorithm>

namespace latecomer {

void Ratios::renew() {
  if (seen_ >= kEnough) before_ = median(0);
  seen_ = 0;
}

double Ratios::least() const {
  const auto end = ratios_.begin() + static_cast<std::ptrdiff_t>(std::min(seen_, kWindow));
  return seen_ == 0 ? 0 : *std::min_element(ratios_.begin(), end);
}

double Ratios::median(double prior, std::size_t prior_weight) const {
  if (before_ && seen_ < kEnough) return *before_;
  std::array<float, kWindow> all = ratios_;
  std::size_t count = std::min(seen_, kWindow);
  for (; prior_weight > 0 && count < kWindow; --prior_weight)
    all[count++] = static_cast<float>(prior);
  if (count == 0) return prior;
  const auto median = all.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  std::nth_element(all.begin(), median, all.begin() + static_cast<std::ptrdiff_t>(count));
  return *median;
}

void Feedback::use(std::uint64_t call) {
  ++uses_;
  last_use_ = call;
}

void Feedback::learn(double ratio, double until_last_exit) {
  ratios_.add(ratio);
  last_exits_.add(until_last_exit);
}

std::uint64_t Feedback::next(double worse) const {
  constexpr double kLoss = 0.01;
  const double excess = std::clamp(worse - 1, 0.0, 1e6);
  const auto pause = static_cast<std::uint64_t>(static_cast<double>(kSamples) * excess / kLoss);
  return last_use_ + (std::max(pause, kFirstPause) << std::min(doublings_, kMaxDoublings));
}

void Feedback::renew() {
  ratios_.renew();
  last_exits_.renew();
  uses_ = 0;
  ++doublings_;
}

}  // namespace latecomer
