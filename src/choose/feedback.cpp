#include "choose/feedback.hpp"

#include <algorithm>

namespace latecomer {

void Feedback::use(std::uint64_t call) {
  ++uses_;
  last_use_ = call;
}

void Feedback::learn(double ratio) { ratios_[seen_++ % kWindow] = static_cast<float>(ratio); }

double Feedback::factor(double prior, std::size_t prior_weight) const {
  std::array<float, kWindow> all = ratios_;
  std::size_t count = std::min(seen_, kWindow);
  for (; prior_weight > 0 && count < kWindow; --prior_weight)
    all[count++] = static_cast<float>(prior);
  if (count == 0) return prior;
  const auto median = all.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  std::nth_element(all.begin(), median, all.begin() + static_cast<std::ptrdiff_t>(count));
  return *median;
}

std::uint64_t Feedback::next(double worse) const {
  constexpr double kLoss = 0.01;
  const double excess = std::clamp(worse - 1, 0.0, 1e6);
  const auto pause = static_cast<std::uint64_t>(static_cast<double>(kSamples) * excess / kLoss);
  return last_use_ + (std::max(pause, kFirstPause) << std::min(doublings_, kMaxDoublings));
}

void Feedback::renew() {
  seen_ = 0;
  uses_ = 0;
  ++doublings_;
}

}  // namespace latecomer
