// The common clock: with made-up local clocks whose offsets and drifts are known, and with the real
// ones, which differ only where hosts have time namespaces of their own.
#include "runtime/connection/clocks/clocks.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "runtime/connection/clocks/clock_sync.hpp"
#include "with_thread.hpp"

namespace latecomer::testing {
namespace {

constexpr Seconds kDay = 86400;

/// The difference of a rank's clock from the machine's.
struct Skew {
  Seconds offset = 0;
  double drift = 0;

  [[nodiscard]] Seconds at(Seconds machine) const { return offset + (1 + drift) * machine; }
};

Skew own_skew;
Seconds skewed_clock() { return own_skew.at(monotonic_clock()); }

Skew skew_of(std::uint64_t seed, Rank clock) {
  Random random(seed + 1000003 * static_cast<std::uint64_t>(clock));
  const Seconds offset = 10 * kDay * random.uniform();
  return {offset, 200e-6 * random.uniform() - 100e-6};
}

/// Rank r reads clock r % clocks.
std::vector<std::uint64_t> dealt(int ranks, int clocks) {
  std::vector<std::uint64_t> read;
  for (int r = 0; r < ranks; ++r) read.push_back(1 + static_cast<std::uint64_t>(r % clocks));
  return read;
}

CommResources& resources_of(MPI_Comm comm) {
  CommState& state = state_of(comm);
  CHECK_EQ(state.ensure_resources(), MPI_SUCCESS);
  return *state.resources;
}

/// The resources of a communicator whose ranks read `clocks` different clocks.
CommResources& skewed_resources(const Context& context, MPI_Comm comm, int clocks) {
  own_skew = skew_of(context.seed, context.rank % clocks);
  CommResources& resources = resources_of(comm);
  resources.clocks = Clocks(group_clocks(dealt(context.ranks, clocks), context.rank), skewed_clock);
  return resources;
}

void check_against_rank_0(const Context& context, const Clocks& clocks, const char* when) {
  const Seconds machine = monotonic_clock();
  const Seconds local = own_skew.at(machine);
  const Seconds mistake = std::abs(clocks.common(local) - skew_of(context.seed, 0).at(machine));
  const Seconds reported = clocks.model().error_at(local);
  CHECK_TEXT(mistake <= reported + 1e-9, std::string(when) + ": off by " + std::to_string(mistake) +
                                             " s, reported " + std::to_string(reported));
}

void keep_a_common_clock(const Context& context, int clocks) {
  if (with_thread()) return;
  const Communicator comm;
  CommResources& resources = skewed_resources(context, comm, clocks);
  CHECK(!resources.clocks.ready());
  CHECK(std::isinf(resources.clocks.error()));
  CHECK_EQ(set_up_clocks(resources, {comm, 30}).code, MPI_SUCCESS);
  CHECK(resources.clocks.ready());
  check_against_rank_0(context, resources.clocks, "set-up");
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    check_against_rank_0(context, resources.clocks, "later");
    CHECK_EQ(refresh_clocks(resources, {comm, 30}).code, MPI_SUCCESS);
    check_against_rank_0(context, resources.clocks, "refresh");
  }
  CHECK(resources.clocks.model().drift_error <= kLargestDrift);
}

MPI_TEST(clocks_of_all_ranks_differ) { keep_a_common_clock(context, context.ranks); }
MPI_TEST(two_ranks_in_three_share_a_clock) {
  keep_a_common_clock(context, std::min(context.ranks, 2));
}

MPI_TEST(ranks_of_one_clock_know_the_same) {
  const Communicator comm;
  CommResources& resources = skewed_resources(context, comm, std::min(context.ranks, 2));
  CHECK_EQ(set_up_clocks(resources, {comm, 30}).code, MPI_SUCCESS);
  const ClockModel& model = resources.clocks.model();
  std::vector<ClockModel> all(static_cast<std::size_t>(context.ranks));
  constexpr int kNumbers = sizeof(ClockModel) / sizeof(double);
  MPI_Allgather(&model, kNumbers, MPI_DOUBLE, all.data(), kNumbers, MPI_DOUBLE, MPI_COMM_WORLD);
  const ClockModel& leader = all[static_cast<std::size_t>(context.rank % 2)];
  CHECK(std::memcmp(&model, &leader, sizeof model) == 0);
  if (context.rank % 2 == 1) CHECK(model.error > 0);
}

/// They would wait for rank 0 otherwise.
MPI_TEST(ranks_of_one_clock_need_nobody) {
  const Communicator comm;
  CommResources& resources = skewed_resources(context, comm, 1);
  if (context.rank != 0) CHECK_EQ(set_up_clocks(resources, {comm, 30}).code, MPI_SUCCESS);
  CHECK_EQ(resources.clocks.ready(), context.rank != 0);
  if (context.rank != 0) CHECK_EQ(resources.clocks.error(), 0.0);
}

MPI_TEST(clocks_are_grouped_by_what_they_are_known_by) {
  const ClockGroups some = group_clocks({7, 8, 7, 9, 8}, 4);
  CHECK(some.leaders == std::vector<Rank>({0, 1, 3}));
  CHECK(some.mates == std::vector<Rank>({1, 4}));
  const ClockGroups unknown = group_clocks({0, 0, 5}, 1);
  CHECK(unknown.leaders == std::vector<Rank>({0, 1, 2}));
  CHECK(unknown.mates == std::vector<Rank>({1}));
}

// ---- the real clocks

Seconds real_time() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The difference of a clock from that of the machine, which no namespace changes.
struct Distance {
  Seconds seconds = 0;
  Seconds error = 1;  // half of the time that reading both took
};

template <class Read>
Distance distance_of(Read&& read) {
  Distance best;
  for (int i = 0; i < 20; ++i) {
    const Seconds before = real_time();
    const Seconds seen = read();
    const Seconds half = (real_time() - before) / 2;
    if (half < best.error) best = {seen - before - half, half};
  }
  best.error += 1e-6;  // doubles count CLOCK_REALTIME in quarters of a microsecond
  return best;
}

Distance of_rank_0(Distance mine) {
  MPI_Bcast(&mine, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return mine;
}

std::vector<double> sorted_over_ranks(const Context& context, double mine) {
  std::vector<double> all(static_cast<std::size_t>(context.ranks));
  MPI_Allgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
  std::sort(all.begin(), all.end());
  return all;
}

void print(const char* what, const std::vector<double>& sorted, double unit) {
  std::printf("  %s: median %.6g, worst %.6g\n", what, sorted[sorted.size() / 2] / unit,
              sorted.back() / unit);
}

/// The seconds that a collective step takes on this rank.
template <class Work>
double timed(Work&& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const Seconds begin = monotonic_clock();
  CHECK_EQ(work().code, MPI_SUCCESS);
  return monotonic_clock() - begin;
}

double median_of_refreshes(const Context& context, CommResources& resources, MPI_Comm comm) {
  std::vector<double> times;
  for (int i = 0; i < (context.quick ? 3 : 21); ++i) {
    const double mine = timed([&] { return refresh_clocks(resources, {comm, 30}); });
    times.push_back(sorted_over_ranks(context, mine).back());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// On hosts of one machine: compares the differences of the ranks' common times with the reported
/// errors.
void compare_common_times(const Context& context, const Clocks& clocks, const char* when) {
  MPI_Barrier(MPI_COMM_WORLD);
  const Distance mine = distance_of([&] { return clocks.now(); });
  const Distance first = of_rank_0(mine);
  const Seconds apart = std::abs(mine.seconds - first.seconds);
  const Seconds reported = clocks.error();
  CHECK_TEXT(apart <= reported + mine.error + first.error,
             "off by " + std::to_string(apart) + " s, reported " + std::to_string(reported));
  const auto all_apart = sorted_over_ranks(context, apart);
  const auto all_reported = sorted_over_ranks(context, reported);
  if (context.rank != 0) return;
  std::printf("  %s\n", when);
  print("us from rank 0", all_apart, 1e-6);
  print("us reported", all_reported, 1e-6);
}

MPI_TEST(hosts_share_a_clock) {
  const Communicator comm;
  CommResources& resources = resources_of(comm);
  const Distance mine = distance_of(monotonic_clock);
  const auto skews = sorted_over_ranks(context, std::abs(mine.seconds - of_rank_0(mine).seconds));
  const double set_up = timed([&] { return set_up_clocks(resources, {comm, 30}); });
  const auto slowest = sorted_over_ranks(context, set_up);
  if (context.rank == 0) {
    std::printf("  %zu clocks, up to %.3f s apart\n", resources.clocks.groups().leaders.size(),
                skews.back());
    std::printf("  ms of set-up: %.3f\n", slowest.back() * 1e3);
  }
  compare_common_times(context, resources.clocks, "after set-up");
  const double refresh = median_of_refreshes(context, resources, comm);
  if (context.rank == 0) std::printf("  ms of a refresh: %.3f\n", refresh * 1e3);
  compare_common_times(context, resources.clocks, "after refreshes");
}

MPI_TEST(the_clock_error_is_told) {
  const Communicator comm;
  double seconds = -1;
  CHECK_EQ(latecomer_get_clock_error(comm, &seconds), MPI_SUCCESS);
  CHECK(std::isinf(seconds));
  CommResources& resources = skewed_resources(context, comm, context.ranks);
  CHECK_EQ(latecomer_get_clock_error(comm, &seconds), MPI_SUCCESS);
  CHECK(std::isinf(seconds));
  CHECK_EQ(set_up_clocks(resources, {comm, 30}).code, MPI_SUCCESS);
  CHECK_EQ(latecomer_get_clock_error(comm, &seconds), MPI_SUCCESS);
  CHECK_EQ(seconds > 0, context.rank > 0);
  CHECK(std::isfinite(seconds));
  CHECK_EQ(latecomer_get_clock_error(comm, nullptr), MPI_ERR_ARG);
  CHECK_TEXT(std::string(last_error()).find("seconds") != std::string::npos, last_error());
}

// ---- trouble

MPI_TEST(a_long_wait_for_the_clock_is_reported_and_goes_on) {
  if (context.ranks == 1) return;
  const Communicator comm;
  MPI_Comm_set_name(comm, "halo");
  CommResources& resources = skewed_resources(context, comm, context.ranks);
  CapturedStderr captured;
  if (context.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK_EQ(set_up_clocks(resources, {comm, 0.02}).code, MPI_SUCCESS);
  const std::string log = captured.text();
  if (context.rank != 1) return;  // it asks rank 0
  CHECK_TEXT(log.find("rank 1 of 'halo'") != std::string::npos, log);
  CHECK_TEXT(log.find("for rank 0 to set the clock") != std::string::npos, log);
}

MPI_TEST(the_clock_is_not_waited_for_when_a_rank_failed) {
  if (context.ranks == 1) return;
  const auto comm = Communicator::returning_errors();
  CommResources& resources = skewed_resources(context, comm, context.ranks);
  if (context.rank == 0) {
    resources.failures.announce_failure();
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  const Outcome outcome = set_up_clocks(resources, {comm, 30});
  CHECK_EQ(outcome.code, disagreement_class());
  CHECK_TEXT(outcome.why.find("rank 0 failed") != std::string::npos, outcome.why);
  CHECK(!resources.clocks.ready());
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace latecomer::testing
