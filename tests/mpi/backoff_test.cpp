// A waiting rank gives its core away.
#include "transports/mpi/backoff.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>
#include <vector>

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

/// The sleeps of a rank that flags wake, as the pauses of a wait make them: its yields, its sleeps.
std::pair<int, std::vector<Seconds>> pauses_for_flags(bool shares_core, Seconds between) {
  Backoff backoff(kRankSleeps, shares_core);
  std::vector<Seconds> sleeps;
  const int before = yields;
  for (int look = 0; look < 4; ++look) {
    backoff.pause(1 + look * between, kFlagSleeps,
                  [&](Seconds seconds) { sleeps.push_back(seconds); });
  }
  return {yields - before, sleeps};
}

MPI_TEST(a_rank_that_flags_wake_sleeps_soon_on_a_shared_core) {
  const auto [yielded, sleeps] = pauses_for_flags(true, 1e-4);
  CHECK_EQ(yielded, 1);
  CHECK_EQ(sleeps.size(), 3U);
  for (const Seconds each : sleeps) {
    CHECK(each >= kFlagSleeps.shortest && each <= kFlagSleeps.longest);
  }
}

/// On a core of its own it looks on for a while, then yields.
MPI_TEST(a_rank_that_flags_wake_does_not_sleep_on_its_own_core) {
  const auto [yielded, sleeps] = pauses_for_flags(false, 0.4 * kFlagSleeps.spin);
  CHECK_EQ(yielded, 1);
  CHECK(sleeps.empty());
}

}  // namespace
}  // namespace latecomer::testing
