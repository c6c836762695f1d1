// The progress thread: data move while a rank computes, results stay right whatever the order of
// arrivals, and what goes wrong is named. Started with --thread.
#include <dirent.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <thread>

#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/background/background.hpp"
#include "runtime/background/pace.hpp"
#include "runtime/comm_state.hpp"
#include "try_allreduce.hpp"
#include "variable.hpp"
#include "with_thread.hpp"

namespace latecomer::testing {
namespace {

constexpr Count kMany = 1 << 15;  // numbers: announced, as the network of --thread goes

void sleep_for(Seconds seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

bool applies(const Context& context) { return with_thread() && context.ranks > 1; }

latecomer_stats stats_of(MPI_Comm comm) {
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  return stats;
}

std::uint64_t sum(std::uint64_t mine) {
  std::uint64_t all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

bool error_names(const std::string& word) {
  return std::string(latecomer_last_error()).find(word) != std::string::npos;
}

void expect_late(const Context& context, MPI_Comm comm, int late) {
  std::vector<double> arrivals(static_cast<std::size_t>(context.ranks), 0.0);
  arrivals[static_cast<std::size_t>(late)] = 1;
  latecomer_set_arrivals(comm, arrivals.data(), context.ranks);
}

/// What the first call does, for which it waits for all ranks, by one that is not announced.
void compare_settings_first(MPI_Comm comm) {
  int one = 1;
  int all = 0;
  CHECK_EQ(latecomer_allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
}

/// Operations that were done before rank `late` arrived, in one call that it comes late to.
std::uint64_t done_before(const Context& context, const char* algorithm, int late) {
  const Kinds kinds;
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", algorithm), MPI_SUCCESS);
  expect_late(context, comm, late);
  compare_settings_first(comm);
  MPI_Barrier(MPI_COMM_WORLD);
  const double sleep = context.rank == late ? 0.3 : 0;
  try_allreduce(comm, kinds.named("float sum"), {kMany, false, sleep}, context.seed, algorithm);
  CHECK_EQ(stats_of(comm).handled, 2U);
  const std::uint64_t done = stats_of(comm).before_arrival;
  return sum(context.rank == late ? done : 0);
}

MPI_TEST(data_come_while_a_rank_computes) {
  if (!applies(context)) return;
  for (const int late : {context.ranks - 1, 0}) {
    CHECK_EQ(done_before(context, "sorted_linear_tree:segments=8", late), 8U);
    CHECK(done_before(context, "prereduced_ring", late) > 0);
    CHECK_EQ(done_before(context, "sorted_linear_tree:segments=8:progress=foreground", late), 0U);
  }
  CHECK_EQ(done_before(context, "ring", 1), 0U);
  CHECK(done_before(context, "ring:progress=background", 1) > 0);
  const Variable none("LATECOMER_PROGRESS", "none");
  CHECK_EQ(done_before(context, "sorted_linear_tree:segments=8", 0), 0U);
}

const char* const kSome[] = {"sorted_linear_tree",
                             "prereduced_ring",
                             "prereduced_ring:segments=40",
                             "ring:progress=background",
                             "generalized:progress=background",
                             "recursive_doubling:progress=background",
                             "two_tree:progress=background",
                             "fastest",
                             "auto",
                             "auto:progress=foreground"};

void believe_anything(const Context& context, MPI_Comm comm, Random& random) {
  std::vector<double> arrivals(static_cast<std::size_t>(context.ranks));
  for (double& arrival : arrivals) arrival = random.uniform();
  if (latecomer_set_arrivals(comm, arrivals.data(), context.ranks) != MPI_SUCCESS) {
    CHECK(error_names("online"));
  }
}

/// Calls whose ranks arrive in any order; some go to the MPI library, or are not announced.
void any_calls(const Context& context, MPI_Comm comm, int calls, std::uint64_t seed) {
  const Kinds kinds;
  Random shared(seed);  // the same on all ranks
  Random own(seed * 31 + static_cast<std::uint64_t>(context.rank));
  for (int i = 0; i < calls; ++i) {
    const std::uint64_t draw = shared.next();
    const Count counts[] = {1, kMany, 0, 4 * kMany, 3, kMany + 17};
    const char* const names[] = {"float sum", "int sum", "int64 max", "affine", "holes"};
    const Count count = counts[draw % 6];
    const char* const name = names[(draw >> 8) % 5];
    believe_anything(context, comm, shared);
    const double sleep = own.next() % 3 == 0 ? 0.02 * own.uniform() : 0;
    const bool in_place = (draw >> 16) % 3 == 0;
    try_allreduce(comm, kinds.named(name), {std::min<Count>(count, 2 * kMany), in_place, sleep},
                  seed + static_cast<std::uint64_t>(i), "any calls");
    if ((draw >> 24) % 4 == 0) MPI_Barrier(comm);
  }
}

MPI_TEST(results_are_right_in_any_order_of_arrivals) {
  if (!applies(context)) return;
  std::uint64_t seed = context.seed;
  for (const char* const algorithm : kSome) {
    for (const char* const estimate : {"given", "online"}) {
      const Communicator comm;
      CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", algorithm), MPI_SUCCESS);
      CHECK_EQ(latecomer_set_estimate(comm, estimate), MPI_SUCCESS);
      any_calls(context, comm, context.quick ? 12 : 30, ++seed);
    }
  }
}

/// What is begun ahead expects the last call's kind again: the other one must be right, too.
MPI_TEST(in_place_or_not_may_change_from_call_to_call) {
  if (!applies(context)) return;
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree:segments=4");
  for (std::uint64_t i = 0; i < 8; ++i) {
    const int late = static_cast<int>(i) % context.ranks;
    expect_late(context, comm, late);
    // Ranks may differ in it.
    const bool in_place = (i + static_cast<std::uint64_t>(context.rank)) / 2 % 2 == 0;
    try_allreduce(comm, kinds.named("int64 max"),
                  {kMany, in_place, context.rank == late ? 0.05 : 0}, context.seed + i, "in place");
  }
  CHECK(sum(stats_of(comm).before_arrival) > 0);
}

MPI_TEST(forecasts_are_made_from_what_the_calls_showed) {
  if (!applies(context)) return;
  const Kinds kinds;
  const Communicator comm;
  const int late = context.ranks - 1;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree:segments=4");
  latecomer_set_estimate(comm, "online");
  for (std::uint64_t i = 0; i < 8; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    try_allreduce(comm, kinds.named("int sum"), {kMany, false, context.rank == late ? 0.05 : 0},
                  context.seed + i, "online");
  }
  std::vector<double> last(static_cast<std::size_t>(context.ranks)), expected(last);
  CHECK_EQ(latecomer_get_pattern(comm, last.data(), expected.data(), context.ranks), MPI_SUCCESS);
  CHECK_EQ(std::max_element(last.begin(), last.end()) - last.begin(), late);
  CHECK_EQ(std::max_element(expected.begin(), expected.end()) - expected.begin(), late);
  CHECK_EQ(state_of(comm).background->prepared()->plan.order.back(), late);
}

/// Nothing is known of earlier calls: only the hook tells that the rank will be late.
MPI_TEST(hooks_tell_who_will_be_late) {
  if (!applies(context)) return;
  const Kinds kinds;
  for (int late = 0; late < std::min(context.ranks, 2); ++late) {
    const Communicator comm;
    latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree:segments=4");
    latecomer_set_estimate(comm, "online");
    if (context.rank == late) {
      CHECK_EQ(latecomer_compute_begin(comm), MPI_SUCCESS);
      sleep_for(0.02);
      CHECK_EQ(latecomer_edge(comm, 0.001), MPI_SUCCESS);  // 20 s to go
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // Until rank 0 has surely read it.
    for (int i = 0; context.rank == 0 && late != 0 && i < 50; ++i) {
      sleep_for(0.002);
      CHECK_EQ(latecomer_compute_begin(comm), MPI_SUCCESS);
    }
    try_allreduce(comm, kinds.named("int sum"), {kMany, false, 0}, context.seed, "hooks");
    CHECK_EQ(state_of(comm).background->prepared()->plan.order.back(), late);
  }
}

MPI_TEST(hooks_that_are_wrong_cost_time_only) {
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree");
  latecomer_set_estimate(comm, "online");
  Random own(context.seed + static_cast<std::uint64_t>(context.rank));
  for (std::uint64_t i = 0; i < 10; ++i) {
    CHECK_EQ(latecomer_compute_begin(comm), MPI_SUCCESS);
    const double most = own.uniform();
    for (const double part : {0.01, 0.3, 1.0})
      CHECK_EQ(latecomer_edge(comm, part * most), MPI_SUCCESS);
    sleep_for(0.01 * own.uniform());
    if (own.next() % 2 == 0) CHECK_EQ(latecomer_compute_end(comm), MPI_SUCCESS);
    try_allreduce(comm, kinds.named("float sum"), {kMany, false, 0}, context.seed + i, "hooks");
  }
}

MPI_TEST(hooks_refuse_what_makes_no_sense) {
  const Communicator comm;
  CHECK_EQ(latecomer_edge(comm, 0.5), MPI_ERR_ARG);
  CHECK_TEXT(error_names("latecomer_compute_begin before it"), latecomer_last_error());
  CHECK_EQ(latecomer_compute_end(comm), MPI_ERR_ARG);
  CHECK_TEXT(error_names("latecomer_compute_begin before it"), latecomer_last_error());
  CHECK_EQ(latecomer_compute_begin(comm), MPI_SUCCESS);
  CHECK_EQ(latecomer_edge(comm, 0.5), MPI_SUCCESS);
  for (const double wrong : {-0.1, 1.1, std::nan("")}) {
    CHECK_EQ(latecomer_edge(comm, wrong), MPI_ERR_ARG);
    CHECK_TEXT(error_names("from 0 to 1"), latecomer_last_error());
  }
  for (const double before : {0.5, 0.2, 0.0}) {
    CHECK_EQ(latecomer_edge(comm, before), MPI_ERR_ARG);
    CHECK_TEXT(error_names("above 0.5"), latecomer_last_error());
  }
  CHECK_EQ(state_of(comm).phase.fraction(), 0.5);
  CHECK_EQ(latecomer_compute_end(comm), MPI_SUCCESS);
  CHECK_EQ(latecomer_edge(comm, 0.9), MPI_ERR_ARG);
  CHECK_EQ(latecomer_compute_begin(MPI_COMM_NULL), MPI_ERR_COMM);
}

std::atomic<int> elsewhere{0};
std::thread::id here;

void add_ints(void* in, void* inout, int* length, MPI_Datatype*) {
  if (std::this_thread::get_id() != here) ++elsewhere;
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

MPI_TEST(operators_of_the_user_stay_off_the_thread) {
  if (!applies(context)) return;
  here = std::this_thread::get_id();
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(add_ints, 1, &op);
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree:progress=background");
  std::vector<int> mine(kMany, 1), result(mine);
  for (int i = 0; i < 4; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (context.rank == i % context.ranks) sleep_for(0.05);
    latecomer_allreduce(mine.data(), result.data(), kMany, MPI_INT, op, comm);
    CHECK(result == std::vector<int>(kMany, context.ranks));
  }
  CHECK_EQ(elsewhere.load(), 0);
  CHECK_EQ(stats_of(comm).handled, 4U);
  MPI_Op_free(&op);
}

MPI_TEST(threads_work_on_communicators_of_their_own) {
  if (!applies(context)) return;
  std::vector<Communicator> comms;
  for (int i = 0; i < 3; ++i) comms.emplace_back();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < comms.size(); ++i) {
    threads.emplace_back([&, i] {
      latecomer_set_algorithm(comms[i], "allreduce", kSome[i]);
      std::vector<int> mine(kMany), result(kMany);
      Random own(context.seed + 100 * i + static_cast<std::uint64_t>(context.rank));
      for (int call = 0; call < 10; ++call) {
        std::fill(mine.begin(), mine.end(), call + context.rank);
        sleep_for(0.01 * own.uniform());
        const int code =
            latecomer_allreduce(mine.data(), result.data(), kMany, MPI_INT, MPI_SUM, comms[i]);
        const int right = context.ranks * call + context.ranks * (context.ranks - 1) / 2;
        const bool all =
            std::all_of(result.begin(), result.end(), [&](int x) { return x == right; });
        if (code != MPI_SUCCESS || !all) note_failure(__FILE__, __LINE__, "wrong on a thread");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Reports and questions are under way when the communicator goes: the next one, which may have its
/// context, must not see them.
MPI_TEST(letters_do_not_outlive_their_communicator) {
  if (!applies(context)) return;
  const Kinds kinds;
  for (std::uint64_t i = 0; i < (context.quick ? 20 : 60); ++i) {
    const Communicator comm;
    const Communicator copy(static_cast<MPI_Comm>(comm));
    for (MPI_Comm each : {static_cast<MPI_Comm>(comm), static_cast<MPI_Comm>(copy)}) {
      latecomer_set_algorithm(each, "allreduce", "sorted_linear_tree");
      latecomer_set_estimate(each, "online");
      latecomer_compute_begin(each);
      for (const double part : {0.1, 0.2, 0.9}) CHECK_EQ(latecomer_edge(each, part), MPI_SUCCESS);
    }
    if (i % 3 == 0) {
      try_allreduce(copy, kinds.named("int sum"), {kMany, false, 0}, context.seed + i, "copy");
    }
    latecomer_edge(copy, 0.95);
  }
}

/// MPI_Finalize finds communicators that nobody freed, with letters under way.
MPI_TEST(communicators_may_be_left_to_finalize) {
  const Kinds kinds;
  for (int i = 0; i < 3; ++i) {
    MPI_Comm left = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &left);
    latecomer_set_algorithm(left, "allreduce", "sorted_linear_tree");
    latecomer_set_estimate(left, "online");
    try_allreduce(left, kinds.named("int sum"), {kMany, false, 0}, context.seed, "left");
    latecomer_compute_begin(left);
    CHECK_EQ(latecomer_edge(left, 0.5), MPI_SUCCESS);
  }
}

/// Rank 0's progress thread cannot take its turn: the others say whom they wait for, and go on.
MPI_TEST(a_long_wait_for_the_plan_is_reported) {
  if (!applies(context)) return;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  compare_settings_first(comm);
  latecomer_set_long_wait(comm, 0.05);
  std::vector<int> mine(kMany, 1), result(mine);
  if (context.rank == 0) {
    const std::lock_guard hold(state_of(comm).turn);
    MPI_Barrier(MPI_COMM_WORLD);
    sleep_for(0.5);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CapturedStderr captured;
  latecomer_allreduce(mine.data(), result.data(), kMany, MPI_INT, MPI_SUM, comm);
  const std::string log = captured.text();
  CHECK(result == std::vector<int>(kMany, context.ranks));
  if (context.rank != 0) CHECK_TEXT(log.find("for rank 0 to announce") != std::string::npos, log);
}

MPI_TEST(plans_that_are_refused_go_to_the_mpi_library) {
  if (!applies(context)) return;
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "generalized:group=17x3");
  for (std::uint64_t i = 0; i < 3; ++i) {
    try_allreduce(comm, kinds.named("int sum"), {kMany, false, 0}, context.seed + i, "refused");
    CHECK_TEXT(error_names("17x3"), latecomer_last_error());
  }
  CHECK_EQ(stats_of(comm).fallback_plan, 3U);
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree");
  try_allreduce(comm, kinds.named("int sum"), {kMany, false, 0}, context.seed, "after it");
  CHECK_EQ(stats_of(comm).handled, 1U);
}

/// One rank's call is not the announced one: an error in its program, which must be named.
void call_differently(const Context& context, Count theirs, Count mine, const char* words) {
  const auto comm = Communicator::returning_errors();
  const int odd = context.ranks - 1;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree:segments=3");
  compare_settings_first(comm);
  latecomer_set_long_wait(comm, 0.2);
  const Count count = context.rank == odd ? mine : theirs;
  std::vector<int> in(static_cast<std::size_t>(count), 1), result(in);
  MPI_Barrier(MPI_COMM_WORLD);
  if (context.rank == odd) sleep_for(0.2);
  int code = MPI_SUCCESS;
  {
    const CapturedStderr captured;
    code = latecomer_allreduce(in.data(), result.data(), static_cast<int>(count), MPI_INT, MPI_SUM,
                               comm);
  }
  CHECK_EQ(code, disagreement_class());
  if (context.rank == odd) CHECK_TEXT(error_names(words), latecomer_last_error());
}

MPI_TEST(calls_that_differ_from_the_announced_one_are_named) {
  if (!applies(context)) return;
  call_differently(context, kMany, kMany + 1, "and this rank is in one of");
  call_differently(context, kMany, 1, "and this rank is in another one");
}

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

MPI_TEST(ranks_that_differ_in_their_wish_use_no_thread) {
  if (!applies(context)) return;
  const Kinds kinds;
  CapturedStderr captured;
  const bool odd = context.rank == context.ranks - 1;
  const Variable variable("LATECOMER_PROGRESS", odd ? "none" : "thread");
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree");
  try_allreduce(comm, kinds.named("int sum"), {kMany, false, 0}, context.seed, "differ");
  const std::string log = captured.text();
  CHECK(state_of(comm).background == nullptr);
  const std::string words = "only " + std::to_string(context.ranks - 1) + " of";
  CHECK_EQ(log.find(words) != std::string::npos, context.rank == 0);
}

MPI_TEST(without_the_thread_level_one_line_says_so) {
  if (with_thread()) return;
  const Kinds kinds;
  const Variable variable("LATECOMER_PROGRESS", "thread");
  for (int i = 0; i < 2; ++i) {
    CapturedStderr captured;
    const Communicator comm;
    latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree");
    try_allreduce(comm, kinds.named("int sum"), {kMany, false, 0}, context.seed, "level");
    const std::string log = captured.text();
    CHECK(state_of(comm).background == nullptr);
    const bool told = log.find("MPI_THREAD_MULTIPLE, from MPI_Init_thread") != std::string::npos;
    CHECK_EQ(told, i == 0 && context.rank == 0 && context.ranks > 1);
  }
}

MPI_TEST(a_progress_that_cannot_be_read_is_reported_once) {
  if (context.ranks == 1) return;
  const Variable variable("LATECOMER_PROGRESS", "perhaps");
  for (int i = 0; i < 2; ++i) {
    CapturedStderr captured;
    const Communicator comm;
    latecomer_set_algorithm(comm, "allreduce", "ring");
    const std::string log = captured.text();
    CHECK(state_of(comm).background == nullptr);
    const bool told =
        log.find("'perhaps' is not usable; right would be none or thread") != std::string::npos;
    CHECK_EQ(told, i == 0);
  }
}

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// What all other threads take of a core while this one computes: processor time, not time.
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
  Letter report;
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
  CHECK(Pace::sleep_after(0, 1e-6) < Pace::sleep_after(1e-3, 1e-6));
  for (const double cost : {1e-6, 5e-6, 20e-6}) {
    CHECK(cost / (cost + Pace::sleep_after(10, cost)) < 0.011);
  }
}

}  // namespace
}  // namespace latecomer::testing
