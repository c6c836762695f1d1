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

constexpr Sleeping kAll[] = {Sleeping::never, Sleeping::on_slow_polls, Sleeping::on_shared_core,
                             Sleeping::asked};

/// A rank cannot know whether others share its core: in a container or namespace it seems to be
/// alone.
MPI_TEST(every_pause_of_a_short_wait_yields) {
  for (const Sleeping when : kAll) {
    Backoff backoff(kRankSleeps, when);
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

/// The polls are fast, so that they show no other thread on the core.
MPI_TEST(a_long_wait_sleeps_on_a_shared_core_or_where_that_is_asked_for) {
  for (const Sleeping when : kAll) {
    Backoff backoff(kRankSleeps, when);
    int sleeps = 0;
    for (int look = 0; look <= 1000; ++look) {
      backoff.pause(1 + 2e-6 * look, 0, kRankSleeps, [&](Seconds) { ++sleeps; });
    }
    const bool sleeping = when == Sleeping::asked || when == Sleeping::on_shared_core;
    CHECK_EQ(sleeps > 0, sleeping);
  }
}

/// But by ranks that may sleep only.
MPI_TEST(a_wait_that_is_expected_to_be_long_is_not_polled_first) {
  for (const Sleeping when : kAll) {
    Backoff backoff(kRankSleeps, when);
    std::vector<Seconds> sleeps;
    for (int look = 0; look < 4; ++look) {
      backoff.pause(1 + 1e-6 * look, 1e-2, kRankSleeps,
                    [&](Seconds seconds) { sleeps.push_back(seconds); });
    }
    const bool sleeping = when == Sleeping::asked || when == Sleeping::on_shared_core;
    CHECK(sleeps == std::vector<Seconds>(sleeping ? 4 : 0, 50e-6));
  }
}

/// A poll that is slow shows that others have the core.
MPI_TEST(slow_polls_make_a_rank_sleep_unless_it_must_not) {
  for (const Sleeping when : kAll) {
    Backoff backoff(kRankSleeps, when);
    int sleeps = 0;
    for (int look = 0; look <= 10; ++look) {
      backoff.pause(1 + 1e-3 * look, 0, kRankSleeps, [&](Seconds) { ++sleeps; });
    }
    CHECK_EQ(sleeps > 0, when != Sleeping::never);
  }
}

/// The sleeps of a rank that flags wake, as the pauses of a wait make them: its yields, its sleeps.
std::pair<int, std::vector<Seconds>> pauses_for_flags(Sleeping when, Seconds between) {
  Backoff backoff(kRankSleeps, when);
  std::vector<Seconds> sleeps;
  const int before = yields;
  for (int look = 0; look < 4; ++look) {
    backoff.pause(1 + look * between, 0, kFlagSleeps,
                  [&](Seconds seconds) { sleeps.push_back(seconds); });
  }
  return {yields - before, sleeps};
}

MPI_TEST(a_rank_that_flags_wake_sleeps_soon_on_a_shared_core) {
  const auto [yielded, sleeps] = pauses_for_flags(Sleeping::on_shared_core, 1e-4);
  CHECK_EQ(yielded, 1);
  CHECK_EQ(sleeps.size(), 3U);
  for (const Seconds each : sleeps) {
    CHECK(each >= kFlagSleeps.shortest && each <= kFlagSleeps.longest);
  }
}

/// On a core of its own it looks on for a while, then yields.
MPI_TEST(a_rank_that_flags_wake_does_not_sleep_on_its_own_core) {
  for (const Sleeping when : {Sleeping::on_slow_polls, Sleeping::asked, Sleeping::never}) {
    const auto [yielded, sleeps] = pauses_for_flags(when, 0.4 * kFlagSleeps.spin);
    CHECK_EQ(yielded, 1);
    CHECK(sleeps.empty());
  }
}

}  // namespace
}  // namespace latecomer::testing
