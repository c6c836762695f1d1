#include "transports/mpi/backoff.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace latecomer {
namespace {

constexpr Seconds kLong = 1e-3;       // a wait that is expected to be so long need not be tried
constexpr Seconds kSlowPoll = 20e-6;  // on a core of one's own it takes a few microseconds

}  // namespace

/// A sleep takes `part` of the wait so far. It may be longer than `longest` where polls are dear,
/// if such sleeps of all ranks together take no more.
Seconds Sleeps::after(Seconds waited, Seconds cost, Seconds left) const {
  if (waited <= patience && left <= kLong) return 0;
  const Seconds most = std::min({polls * cost, longest_ever, part * waited / ranks});
  return std::clamp(part * waited, shortest, std::max(longest, most));
}

/// Returns the seconds to sleep; 0: the pause was made.
Seconds Backoff::begin_pause(Seconds now, Seconds left, const Sleeps& sleeps) {
  if (!std::exchange(waits_, true)) {
    since_ = now;
    polls_ = 0;
  }
  const Seconds waited = now - since_;
  if (when_ != Sleeping::on_shared_core && waited < sleeps.spin) return 0;
  ++polls_;
  Seconds cost = 0;
  if (sleeps.polls > 0 && waited > sleeps.patience) {
    const Seconds used = processor_time();
    cost = used - std::exchange(used_, used);
  }
  const bool may = may_sleep(waited) || (when_ == Sleeping::asked && left > kLong);
  const Seconds sleep = may ? sleeps.after(waited, cost, left) : 0;
  if (sleep == 0) sched_yield();
  return sleep;
}

bool Backoff::may_sleep(Seconds waited) const {
  if (when_ == Sleeping::never) return false;
  if (when_ == Sleeping::on_shared_core) return true;
  if (when_ == Sleeping::asked && waited > sleeps_.patience) return true;
  return waited > polls_ * kSlowPoll;
}

}  // namespace latecomer
