// The processor time of the progress thread, and the settings without one.
#include <dirent.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "communicator.hpp"
#include "runtime/progress/async_progress.hpp"
#include "thread_helpers.hpp"
#include "transports/mpi/backoff.hpp"

namespace latecomer::testing {
namespace {

MPI_TEST(a_child_process_has_no_thread) {
  if (!applies(context)) return;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  const pid_t child = fork();
  if (child == 0) {
    int tasks = 0;
    DIR* const folder = opendir("/proc/self/task");
    while (const dirent* const entry = readdir(folder)) tasks += entry->d_name[0] != '.' ? 1 : 0;
    _exit(tasks == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
}

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The processor time, not the elapsed time, of all other threads while this one computes, as a
/// part of a core.
double taken_by_others(Seconds length) {
  const double begin = seconds_of(CLOCK_MONOTONIC);
  const double others = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID);
  while (seconds_of(CLOCK_MONOTONIC) - begin < length) {
  }
  const double taken = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID);
  return (taken - others) / (seconds_of(CLOCK_MONOTONIC) - begin);
}

MPI_TEST(the_thread_takes_little_while_a_rank_computes) {
  if (!applies(context)) return;
  const auto before = taken_by_others(0.2);
  std::vector<Communicator> comms;
  for (const std::size_t number : {1, 16}) {
    while (comms.size() < number) {
      latecomer_set_algorithm(comms.emplace_back(), "allreduce", "ring");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double taken = taken_by_others(context.quick ? 0.2 : 3);
    if (context.rank == 0) {
      std::printf("  %zu communicators: %.2f %% of a core (%.2f %% without)\n", number, 100 * taken,
                  100 * before);
    }
    CHECK_TEXT(taken < 0.05, std::to_string(taken));
  }
}

MPI_TEST(reports_weigh_as_much_as_they_rest_on) {
  Sequencer sequencer(3);
  using Times = std::vector<Seconds>;
  CHECK(sequencer.blend(5, {}, 100) == Times{});
  PlanMessage report;
  report.call = 5;
  report.arrival = 102;
  report.weight = 0.25;
  sequencer.note_report(2, report);
  CHECK(sequencer.blend(4, {}, 100) == Times{});
  CHECK(sequencer.blend(5, {}, 100) == Times({0, 0, 2}));
  CHECK(sequencer.blend(5, {0, 1, 1}, 100) == Times({0, 1, 0.25 * 2 + 0.75 * 1}));
  CHECK(sequencer.blend(5, {}, 103) == Times({0, 0, 0}));  // it must be there by now
  report.call = 6;
  sequencer.note_report(2, report);
  CHECK(sequencer.blend(5, {0, 1, 1}, 100) == Times({0, 1, 1}));
}

MPI_TEST(sleeps_grow_and_looking_stays_cheap) {
  CHECK(kThreadSleeps.after(0, 1e-6) < kThreadSleeps.after(1e-3, 1e-6));
  for (const double cost : {1e-6, 5e-6, 20e-6}) {
    CHECK(cost / (cost + kThreadSleeps.after(10, cost)) < 0.011);
    CHECK(cost / (cost + kRankSleeps.among(8).after(10, cost)) < 0.05);
  }
  for (Seconds waited = 1e-6; waited < 10; waited *= 2) {
    const Seconds thread = kThreadSleeps.after(waited, 1e-6);
    CHECK(thread > 0 && thread <= std::max(waited / 4, 20e-6));
  }
}

MPI_TEST(sleeps_above_100_us_are_shared_among_the_ranks) {
  constexpr Seconds kDearPoll = 1e-3;
  CHECK(std::abs(kRankSleeps.among(8).after(0.2, kDearPoll) - 500e-6) < 1e-9);
  CHECK(std::abs(kRankSleeps.among(2).after(0.04, kDearPoll) - 400e-6) < 1e-9);
  CHECK_EQ(kRankSleeps.among(8).after(60, kDearPoll), 1e-3);
  CHECK_EQ(kRankSleeps.among(8).after(0.04, kDearPoll), 100e-6);
  CHECK_EQ(kRankSleeps.among(8).after(60, 1e-6), 100e-6);
}

/// However long the wait is expected to be, and however much a poll costs.
MPI_TEST(a_rank_oversleeps_by_a_fiftieth_of_its_wait_or_50_us_and_long_only_if_all_ranks_may) {
  for (const int ranks : {1, 2, 8, 64, 4096}) {
    const Sleeps sleeps = kRankSleeps.among(ranks);
    for (Seconds waited = 1e-6; waited < 1000; waited *= 1.7) {
      for (const Seconds left : {-1.0, 0.0, 1e-4, 1e-2, 100.0}) {
        for (const Seconds cost : {0.0, 1e-6, 2e-5, 1e-2}) {
          const Seconds sleep = sleeps.after(waited, cost, left);
          CHECK_EQ(sleep > 0, waited > 1e-3 || left > 1e-3);
          CHECK(sleep <= std::max(0.02 * waited, 50e-6) && sleep <= 1e-3);
          CHECK(sleep <= std::max({100e-6, std::min(20 * cost, 0.02 * waited / ranks)}));
          CHECK(sleep <= sleeps.after(1.1 * waited, cost, left));
          CHECK(sleep <= kRankSleeps.after(waited, cost, left));
        }
      }
    }
  }
}

MPI_TEST(a_wait_ends_when_there_is_nothing_to_wait_for_or_at_its_bound) {
  int looks = 0;
  CHECK(wait_until([&] { return ++looks == 3; }, 100));
  CHECK_EQ(looks, 3);
  CHECK(!wait_until([] { return false; }, 0.01));
}

}  // namespace
}  // namespace latecomer::testing
