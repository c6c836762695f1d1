// Gives the processor away while nothing comes: at first by yielding, then by sleeps that grow with
// the time waited. Where threads share cores, their polling takes the time that the others need.
#pragma once

#include <chrono>

#include "base/types.hpp"

namespace latecomer {

/// How the sleeps of one kind of thread grow.
struct Sleeps {
  Seconds patience;  // most waits are over by then: a sleep would make them long
  double part;       // of the wait so far: a sleep makes it longer by no more than this
  Seconds shortest;
  Seconds longest;
  double looks = 0;  // a sleep may take the processor time of so many looks, if that is more ...
  Seconds longest_ever = 0;  // ... but no longer

  /// The sleep after a wait of `waited`, where a look costs `cost` of a core. 0: yield instead.
  [[nodiscard]] Seconds after(Seconds waited, Seconds cost) const;
};

/// Of a rank that waits in a call.
inline constexpr Sleeps kRankSleeps{2e-3, 0.125, 0, 100e-6};
/// Of the progress thread, which must not take the time of a rank that computes: in the end its
/// looks take less than a hundredth of a core, unless there are very many communicators.
inline constexpr Sleeps kThreadSleeps{0, 0.25, 20e-6, 500e-6, 150, 5e-3};

class Backoff {
 public:
  /// `shares_core`: with other threads. Otherwise slow looks show if something else does; on a core
  /// of one's own a sleep would only be late.
  Backoff(const Sleeps& sleeps, bool shares_core) : sleeps_(sleeps), shares_core_(shares_core) {}

  void progressed() { looks_ = 0; }
  /// After a look, at `now` on a clock in seconds. The first pause after progress yields, and the
  /// wait counts from it.
  void pause(Seconds now);

 private:
  Sleeps sleeps_;
  bool shares_core_;
  int looks_ = 0;  // since the last progress
  Seconds since_ = 0;
  Seconds used_ = 0;  // of a core, by this thread
};

/// Looks until there is nothing more to wait for. False: not after `at_most`.
template <class Done>
bool wait_until(Done&& done, Seconds at_most) {
  const auto now = [begin = std::chrono::steady_clock::now()] {
    return std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - begin).count();
  };
  Backoff backoff(kRankSleeps, false);
  while (!done()) {
    if (now() >= at_most) return false;
    backoff.pause(now());
  }
  return true;
}

}  // namespace latecomer
