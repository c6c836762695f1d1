#include "transports/mpi/backoff.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <utility>

namespace latecomer {
namespace {

constexpr Seconds kSlowPoll = 20e-6;  // on a core of one's own it takes a few microseconds

/// The processor time that this thread has used.
Seconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<Seconds>(time.tv_sec) + 1e-9 * static_cast<Seconds>(time.tv_nsec);
}

}  // namespace

Seconds Sleeps::after(Seconds waited, Seconds cost) const {
  if (waited <= patience) return 0;
  return std::clamp(part * waited, shortest,
                    std::max(longest, std::min(polls * cost, longest_ever)));
}

/// Returns the seconds to sleep; 0: the pause was made.
Seconds Backoff::begin_pause(Seconds now, const Sleeps& sleeps) {
  if (!std::exchange(waits_, true)) {
    since_ = now;
    polls_ = 0;
  }
  const Seconds waited = now - since_;
  if (!shares_core_ && waited < sleeps.spin) return 0;
  ++polls_;
  Seconds cost = 0;
  if (sleeps.polls > 0) {
    const Seconds used = processor_time();
    cost = used - std::exchange(used_, used);
  }
  const bool shares_core = shares_core_ || waited > polls_ * kSlowPoll;
  const Seconds sleep = shares_core ? sleeps.after(waited, cost) : 0;
  if (sleep == 0) sched_yield();
  return sleep;
}

}  // namespace latecomer
