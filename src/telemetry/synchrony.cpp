#include "telemetry/synchrony.hpp"

#include <algorithm>
#include <numeric>

namespace latecomer {
namespace {

Seconds mean(const std::vector<Seconds>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

}  // namespace

void Synchrony::learn(const std::vector<Seconds>& exits, const std::vector<Seconds>& next) {
  const bool first = usual_.empty();
  usual_.resize(exits.size());
  const Seconds mean_exit = mean(exits);
  const Seconds mean_next = mean(next);
  const double renewal = first ? 1 : kRenewal;
  variance_ -= renewal * variance_;
  covariance_ -= renewal * covariance_;
  for (std::size_t rank = 0; rank < exits.size(); ++rank) {
    const Seconds exit = exits[rank] - mean_exit - usual_[rank].exit;
    const Seconds arrival = next[rank] - mean_next - usual_[rank].arrival;
    usual_[rank].exit += renewal * exit;
    usual_[rank].arrival += renewal * arrival;
    if (first) continue;  // it tells what is usual
    variance_ += exit * exit;
    covariance_ += exit * arrival;
  }
  if (variance_ > 0) estimate_ = 1 - std::clamp(covariance_ / variance_, 0.0, 1.0);
}

}  // namespace latecomer
