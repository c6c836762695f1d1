// A waiting rank gives its core away.
#include "transports/mpi/backoff.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner.hpp"

namespace {
thread_local int yields = 0;
}

/// Stands in for the C library's, and counts.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace latecomer::testing {
namespace {

/// A rank cannot know whether others share its core: in a container or namespace it seems to be
/// alone.
MPI_TEST(every_pause_of_a_short_wait_yields) {
  for (const bool shares_core : {false, true}) {
    Backoff backoff(kRankSleeps, shares_core);
    for (const Seconds begin : {1.0, 2.0}) {
      for (int look = 0; look < 200; ++look) {
        const int before = yields;
        backoff.pause(begin + 1e-6 * look);
        CHECK_EQ(yields, before + 1);
      }
      backoff.progressed();
    }
  }
}

MPI_TEST(a_long_wait_on_a_shared_core_sleeps) {
  Backoff backoff(kRankSleeps, true);
  backoff.pause(1);
  const int before = yields;
  backoff.pause(1 + 2 * kRankSleeps.patience);
  CHECK_EQ(yields, before);
}

}  // namespace
}  // namespace latecomer::testing
