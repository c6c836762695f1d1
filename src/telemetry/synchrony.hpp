// How far the ranks of a program wait for each other between two calls, in a barrier for instance.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// Estimated by the arrivals that follow exits: a rank that leaves a call later than it usually
/// does comes later to the next one, unless ranks wait for each other in between.
class Synchrony {
 public:
  /// Notes the exits from a call and the arrivals in the next one, by rank, on one clock.
  void learn(const std::vector<Seconds>& exits, const std::vector<Seconds>& next);
  /// 0: each rank goes on by itself; 1: all wait for each other. One half before anything is known.
  [[nodiscard]] double estimate() const { return estimate_; }

 private:
  static constexpr double kRenewal = 0.125;  // part of what is known that a call renews

  /// What is usual for a rank: times against the mean over the ranks.
  struct Usual {
    Seconds exit = 0;
    Seconds arrival = 0;
  };

  std::vector<Usual> usual_;
  double variance_ = 0;    // of exits; sums that fade
  double covariance_ = 0;  // of exits and the next arrivals
  double estimate_ = 0.5;
};

}  // namespace latecomer
