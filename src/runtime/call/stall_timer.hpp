// Measures a wait, and when to report it as a stall: once after `limit` seconds, then at doubling
// intervals.
#pragma once

#include <chrono>

#include "base/types.hpp"

namespace latecomer {

class StallTimer {
 public:
  explicit StallTimer(Seconds limit) : limit_(limit) {}

  void progressed() { waiting_ = false; }
  /// Called when no message arrived. Returns true if a report is due.
  bool idle();
  /// The seconds since the first idle() after the last progress.
  [[nodiscard]] Seconds waited() const { return now_ - since_; }
  [[nodiscard]] Seconds now() const { return now_; }

 private:
  Seconds limit_;
  bool waiting_ = false;
  Seconds now_ = 0;
  Seconds since_ = 0;
  Seconds next_ = 0;
};

inline bool StallTimer::idle() {
  using Clock = std::chrono::steady_clock;
  now_ = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  if (!waiting_) {
    waiting_ = true;
    since_ = now_;
    next_ = limit_;
    return false;
  }
  if (waited() < next_) return false;
  next_ *= 2;
  return true;
}

}  // namespace latecomer
