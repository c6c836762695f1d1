#include "clocks/clock.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace latecomer {
namespace {

constexpr Seconds kClockResolution = 1e-9;  // of the clocks
constexpr double kWander = 0.5e-6;   // by which a drift may differ from its mean over minutes
constexpr std::size_t kMaxPast = 8;  // with kLongestInterval: the drift's mean over minutes
constexpr Seconds kApart = 0.25;     // between models that are worth keeping
constexpr Seconds kLongestInterval = 32;

/// The truth lies in it. Empty if low > high.
struct Bounds {
  double low;
  double high;

  [[nodiscard]] double middle() const { return low + (high - low) / 2; }
  [[nodiscard]] double half() const { return (high - low) / 2; }
  [[nodiscard]] bool empty() const { return low > high; }
  [[nodiscard]] Bounds wider(double by) const { return {low - by, high + by}; }
};

Bounds around(double middle, double half) { return {middle - half, middle + half}; }

Bounds intersect(const Bounds& a, const Bounds& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

/// The bounds of the offset at `origin`.
Bounds bounds_of(const ClockSample& sample, Seconds origin) {
  const Bounds then{sample.peer - sample.answered, sample.peer - sample.asked};
  return then.wider(kLargestDrift * (origin - sample.asked) + kClockResolution);
}

Bounds bounds_at(const ClockModel& model, Seconds local) {
  return around(model.offset_at(local), model.error_at(local));
}

/// The bounds of the drift, by the offsets at two instants.
Bounds slope(const ClockModel& from, const ClockModel& to) {
  const Seconds apart = to.origin - from.origin;
  return around((to.offset - from.offset) / apart, (to.error + from.error) / apart).wider(kWander);
}

Bounds narrowest(const std::vector<ClockSample>& samples, Seconds origin) {
  Bounds best = bounds_of(samples.front(), origin);
  for (const ClockSample& sample : samples) {
    const Bounds bounds = bounds_of(sample, origin);
    if (bounds.half() < best.half()) best = bounds;
  }
  return best;
}

}  // namespace

ClockModel fit(const std::vector<ClockSample>& samples, Seconds peer_error) {
  if (samples.empty()) throw Error("number of clock samples", "0", "one at least");
  const Seconds origin = samples.back().answered;
  Bounds offset = narrowest(samples, origin);
  for (const ClockSample& sample : samples) {
    offset = intersect(offset, bounds_of(sample, origin));
  }
  // A clock was set between the samples: the last one counts until the next fit.
  if (offset.empty()) offset = bounds_of(samples.back(), origin);
  return {origin, offset.middle(), offset.half() + peer_error, 0, kLargestDrift};
}

void ClockHistory::add(const ClockModel& fit) {
  const Bounds expected = empty_ ? bounds_at(fit, fit.origin) : bounds_at(model_, fit.origin);
  const Bounds offset = intersect(bounds_at(fit, fit.origin), expected);
  empty_ = false;
  model_ = fit;
  if (offset.empty()) {
    past_.clear();
  } else {
    model_.offset = offset.middle();
    model_.error = offset.half();
  }
  keep();
}

/// Tells the drift by the models before, and puts this one beside them.
void ClockHistory::keep() {
  Bounds drift = around(0, kLargestDrift);
  for (const ClockModel& before : past_) {
    if (model_.origin > before.origin) drift = intersect(drift, slope(before, model_));
  }
  if (drift.empty()) {
    past_.clear();
    drift = around(0, kLargestDrift);
  }
  model_.drift = drift.middle();
  model_.drift_error = drift.half();
  if (!past_.empty() && model_.origin - past_.back().origin < kApart) return;
  past_.push_back(model_);
  if (past_.size() > kMaxPast) past_.pop_front();
}

bool ClockRefresh::due(Seconds instant) {
  if (!last_) last_ = instant;
  if (instant - *last_ < interval_) return false;
  last_ = instant;
  interval_ = std::min(2 * interval_, kLongestInterval);
  return true;
}

}  // namespace latecomer
