// Estimators that smooth: what a rank does on average, it will do next. Simple moving averages are
// what Marendic 2012 proposes for arrivals, exponential ones are future work of Proficz 2021.
#pragma once

#include "arrival/pattern_history.hpp"

namespace latecomer {

inline constexpr int kAveraged = 8;  // calls

/// The mean of the last 8 patterns, or of as many as there are; seconds.
void moving_average(const PatternHistory& history, std::span<Seconds> next);

/// The mean of all patterns, in which each weighs 3/4 of the next; seconds.
class ExponentialAverage {
 public:
  explicit ExponentialAverage(Rank ranks) : average_(static_cast<std::size_t>(ranks)) {}

  void add(std::span<const Seconds> pattern);
  void predict(std::span<Seconds> next) const;

 private:
  std::vector<Seconds> average_;
  bool empty_ = true;
};

}  // namespace latecomer
