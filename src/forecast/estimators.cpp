#include "forecast/estimators.hpp"

#include <functional>
#include <limits>

namespace latecomer {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();
constexpr int kLately = 4;  // calls that an average and a trend look back
constexpr int kLines = 3;   // an outlier moves one of them, not the middle one

float middle(float one, float two, float three) {
  return std::max(std::min(one, two), std::min(std::max(one, two), three));
}

Ends ends_of(PatternView pattern) {
  const auto [min, max] = extremes_of(pattern);
  const auto rank = [&](float time) {
    return static_cast<std::uint32_t>(std::ranges::find(pattern, time) - pattern.begin());
  };
  return {rank(max), rank(min), max - min};
}

}  // namespace

Estimators::Estimators(Rank ranks, int depth)
    : computing_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(depth)),
      exits_(computing_.size()),
      ends_(static_cast<std::size_t>(depth)),
      average_(static_cast<std::size_t>(ranks)) {
  missed_.fill(kNever);
}

void Estimators::add(PatternView computing, PatternView exits) {
  const float weight = size_ == 0 ? 1 : 1.0F / kLately;
  const std::size_t begin = next_ * computing.size();
  for (std::size_t rank = 0; rank < computing.size(); ++rank) {
    computing_[begin + rank] = computing[rank];
    exits_[begin + rank] = exits[rank];
    average_[rank] += weight * (computing[rank] - average_[rank]);
  }
  ends_[next_] = now_;
  period_ = next_period_;
  next_ = (next_ + 1) % ends_.size();
  size_ = std::min(size_ + 1, static_cast<int>(ends_.size()));
}

/// Compares the last and the first rank with those of earlier calls, in O(32) for any ranks.
void Estimators::look_for_period(PatternView computing) {
  now_ = ends_of(computing);
  look_at_imbalance(now_.imbalance);
  for (int calls = 2; calls <= size_; ++calls) {
    float& missed = missed_[static_cast<std::size_t>(calls)];
    missed *= kFading;
    const Ends& then = ends_[row(calls)];
    const float larger = std::max(now_.imbalance, then.imbalance);
    if (larger < kFit * usual_) continue;
    const std::array ranks = {now_.latest, now_.earliest, then.latest, then.earliest};
    const auto moved = [&, before = at(computing_, calls)](std::size_t i) {
      return computing[ranks[i]] - before[ranks[i]];
    };
    const bool alike = extremes(ranks.size(), moved).range() < kFit * larger;
    missed = alike && missed == kNever ? 0 : missed + (alike ? 0.0F : 1.0F);
  }
  const auto best = std::ranges::min_element(missed_);
  if (*best < kWrong * missed_[static_cast<std::size_t>(next_period_)]) {
    next_period_ = static_cast<int>(best - missed_.begin());
  }
  if (period_ == 0) period_ = next_period_;  // with it this call would have been known
}

/// Finds what is usual: the second largest imbalance, since one call may be like no other. If that
/// is much more than before, all that repeated until now was noise.
void Estimators::look_at_imbalance(float imbalance) {
  float largest = imbalance;
  float second = 0;
  for (const Ends& one : ends_) {
    second = std::max(second, std::min(one.imbalance, largest));
    largest = std::max(largest, one.imbalance);
  }
  usual_ *= kFading;
  if (usual_ < kFit * second) {
    missed_.fill(kNever);
    next_period_ = period_ = 0;
  }
  usual_ = std::max(usual_, second);
}

PatternView Estimators::predict(Estimator estimator, std::span<float> room) const {
  // A repeated call must not be the only one with ranks so late.
  const bool periodic = period_ > 0 && kWrong * ends_[row(period_)].imbalance <= usual_;
  const bool by_period =
      estimator == Estimator::periodic || estimator == Estimator::computing_periodic;
  const int needed = estimator == Estimator::last_value ? 1 : estimator == Estimator::trend ? 4 : 2;
  if (by_period ? !periodic : size_ < needed) return {};
  if (estimator == Estimator::trend) return trend(room);
  const PatternView exits = at(exits_, estimator == Estimator::periodic ? period_ : 1);
  PatternView computing = at(computing_, by_period ? period_ : 1);
  if (estimator == Estimator::computing_average) computing = average_;
  std::transform(exits.begin(), exits.end(), computing.begin(), room.begin(), std::plus());
  if (estimator == Estimator::shift) {
    const std::size_t moved = ends_[row(1)].latest + room.size() - ends_[row(2)].latest;
    std::ranges::rotate(room, room.end() - static_cast<std::ptrdiff_t>(moved % room.size()));
  }
  return room;
}

/// The lines go through calls `kLately` apart, or fewer if no more are known.
PatternView Estimators::trend(std::span<float> next) const {
  const int apart = std::min(kLately, size_ - kLines);
  const float per_call = 1 / static_cast<float>(apart);
  const auto of = [&](int calls) { return at(computing_, calls); };
  const PatternView exits = at(exits_, 1);
  const std::array now = {of(1), of(2), of(3)};
  const std::array before = {of(1 + apart), of(2 + apart), of(3 + apart)};
  for (std::size_t rank = 0; rank < next.size(); ++rank) {
    const auto risen = [&](std::size_t line) { return now[line][rank] - before[line][rank]; };
    const float slope = middle(risen(0), risen(1), risen(2)) * per_call;
    next[rank] = exits[rank] +
                 middle(now[0][rank] + slope, now[1][rank] + 2 * slope, now[2][rank] + 3 * slope);
  }
  return next;
}

PatternView Estimators::at(const std::vector<float>& rows, int calls) const {
  return {rows.data() + row(calls) * average_.size(), average_.size()};
}

std::size_t Estimators::row(int calls) const {
  const auto back = static_cast<std::size_t>(calls);
  return next_ >= back ? next_ - back : next_ + ends_.size() - back;
}

}  // namespace latecomer
