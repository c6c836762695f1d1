#include "select/track.hpp"

#include <algorithm>
#include <vector>

namespace latecomer {
namespace {

constexpr double kAsGood = 1.1;  // times what is usual

}  // namespace

void Track::use(std::uint64_t call) {
  if (forgotten(call)) pause_ = std::min(2 * pause_, kLongestPause);
  ++uses_;
  last_use_ = call;
}

void Track::learn(double ratio, double usual) {
  ratios_.push_back(ratio);
  if (ratios_.size() > kWindow) ratios_.pop_front();
  if (ratio <= kAsGood * usual) pause_ = kFirstPause;
}

double Track::factor(double usual, int doubts) const {
  std::vector<double> all(ratios_.begin(), ratios_.end());
  for (int i = 0; i < doubts && all.size() < kWindow; ++i) all.push_back(usual);
  if (all.empty()) return usual;
  const auto median = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::nth_element(all.begin(), median, all.end());
  return *median;
}

double Track::best() const { return *std::min_element(ratios_.begin(), ratios_.end()); }

bool Track::forgotten(std::uint64_t call) const { return uses_ > 0 && call > last_use_ + pause_; }

}  // namespace latecomer
