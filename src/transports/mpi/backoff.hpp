// Gives the processor away while no message arrives: at first by yielding, then by sleeps that grow
// with the wait. Where threads share cores, polling takes the time that the others need.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "base/clock.hpp"
#include "base/types.hpp"

namespace latecomer {

/// When a waiting thread sleeps.
enum class Sleeping : std::uint8_t {
  never,
  on_slow_polls,   // they show that it shares its core with others
  on_shared_core,  // it is known to share it
  asked,           // also on a core of its own
};

/// The parameters of a kind of thread's sleeps.
struct Sleeps {
  Seconds patience;  // no sleep before: most waits are shorter, and a sleep would make them long
  double part;       // of the wait so far that a sleep may take
  Seconds shortest;
  Seconds longest;
  double polls = 0;  // a sleep may take the processor time of this many polls, if that is more ...
  Seconds longest_ever = 0;  // ... but no longer
  Seconds spin = 0;          // on a core of its own a thread polls so long without giving it away
  int ranks = 1;  // that may wait for each other one after the other: their long sleeps add up

  /// The sleep after a wait of `waited`, where a poll costs `cost` of processor time, and the wait
  /// is expected to last for another `left`; 0: that is not known. Returns 0: yield instead.
  [[nodiscard]] Seconds after(Seconds waited, Seconds cost, Seconds left = 0) const;
  /// Those of one of so many ranks.
  [[nodiscard]] constexpr Sleeps among(int all) const {
    Sleeps sleeps = *this;
    sleeps.ranks = all;
    return sleeps;
  }
};

/// The sleeps of a rank that waits in a call: they are late by a fiftieth of the wait, or the 50 us
/// that the kernel adds to any sleep. Polls take at most a twentieth of a core where all ranks'
/// sleeps together can be so short a part of the wait.
inline constexpr Sleeps kRankSleeps{1e-3, 0.02, 50e-6, 100e-6, 20, 1e-3};
/// The sleeps of a rank that waits for flags of its node alone, which wake it.
inline constexpr Sleeps kFlagSleeps{
    .patience = 0, .part = 1, .shortest = 50e-6, .longest = 1e-3, .spin = 5e-6};
/// The sleeps of the progress thread, which must not take the time of a rank that computes: in the
/// end its polls take less than a hundredth of a core, unless there are very many communicators.
inline constexpr Sleeps kThreadSleeps{0, 0.25, 20e-6, 500e-6, 150, 5e-3};

class Backoff {
 public:
  Backoff(const Sleeps& sleeps, Sleeping when) : sleeps_(sleeps), when_(when) {}

  void progressed() { waits_ = false; }
  /// Called after a poll without progress, at `now` on a clock in seconds. The wait counts from
  /// the first pause after progress, which sleeps only if a long wait is expected.
  void pause(Seconds now) {
    pause(now, 0, sleeps_, [](Seconds seconds) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    });
  }
  /// Likewise with other sleeps, which `sleep(seconds)` may end early. `left`: as in Sleeps::after.
  template <class Sleep>
  void pause(Seconds now, Seconds left, const Sleeps& sleeps, Sleep&& sleep) {
    if (const Seconds seconds = begin_pause(now, left, sleeps); seconds > 0) sleep(seconds);
  }

 private:
  Seconds begin_pause(Seconds now, Seconds left, const Sleeps& sleeps);
  [[nodiscard]] bool may_sleep(Seconds waited) const;

  Sleeps sleeps_;
  Sleeping when_;
  bool waits_ = false;
  int polls_ = 0;  // since the last progress, that yielded or slept
  Seconds since_ = 0;
  Seconds used_ = 0;  // of a core, by this thread
};

/// Polls `done` until it returns true. Returns false after `at_most` seconds.
template <class Done>
bool wait_until(Done&& done, Seconds at_most) {
  const Seconds end = monotonic_clock() + at_most;
  Backoff backoff(kRankSleeps, Sleeping::on_slow_polls);
  while (!done()) {
    const Seconds now = monotonic_clock();
    if (now >= end) return false;
    backoff.pause(now);
  }
  return true;
}

}  // namespace latecomer
