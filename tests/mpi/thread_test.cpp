// The progress thread: data move while a rank computes, and results stay right whatever the order
// of arrivals. Started with --thread.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "communicator.hpp"
#include "runtime/attachment.hpp"
#include "runtime/progress/async_progress.hpp"
#include "thread_helpers.hpp"
#include "try_reduction.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

std::uint64_t sum(std::uint64_t mine) {
  std::uint64_t all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

void expect_late(const Context& context, MPI_Comm comm, int late) {
  std::vector<double> arrivals(static_cast<std::size_t>(context.ranks), 0.0);
  arrivals[static_cast<std::size_t>(late)] = 1;
  latecomer_set_arrivals(comm, arrivals.data(), context.ranks);
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

/// A rank that has not made a call of the MPI library's, which let others leave, does not begin the
/// one after it: the ranks' choosers are to learn of calls in the same order.
MPI_TEST(no_call_is_begun_before_one_that_the_rank_has_yet_to_make) {
  if (!applies(context)) return;
  const Kinds kinds;
  const int late = context.ranks - 1;
  const Communicator comm;
  CHECK_EQ(latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree:segments=8"),
           MPI_SUCCESS);
  expect_late(context, comm, late);
  compare_settings_first(comm);
  AsyncProgress& progress = *state_of(comm).async_progress;
  const auto begun = [&] {
    const std::lock_guard hold(state_of(comm).lock);
    return progress.begun() != nullptr;
  };
  if (context.rank == late) {
    sleep_for(0.2);
    CHECK(!begun());
  }
  int word = context.rank;
  CHECK_EQ(latecomer_bcast(&word, 1, MPI_INT, 0, comm), MPI_SUCCESS);
  while (context.rank == late && !begun()) sleep_for(0.001);
  try_allreduce(comm, kinds.named("float sum"), {kMany, false, 0}, context.seed, "after a bcast");
  CHECK_EQ(word, 0);
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

/// A call that is begun ahead expects the last call's kind again: the other one must be right, too.
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
  CHECK_EQ(state_of(comm).async_progress->prepared()->plan.order.back(), late);
}

std::atomic<int> elsewhere{0};
std::thread::id here;

void add_ints(void* in, void* inout, int* length, MPI_Datatype*) {
  if (std::this_thread::get_id() != here) ++elsewhere;
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

/// Long calls are announced, short ones are not; all ranks must announce the same ones.
MPI_TEST(announced_calls_and_others_take_turns) {
  if (!applies(context)) return;
  const Communicator comm;
  const char* const algorithms[][2] = {
      {"bcast", "binomial"}, {"scatter", "linear"}, {"reduce", "binomial"}, {"gather", "binomial"}};
  CHECK_EQ(latecomer_set_network(comm, "alpha=1us,beta=5ns"), MPI_SUCCESS);
  for (const auto& [collective, name] : algorithms) {
    CHECK_EQ(latecomer_set_algorithm(comm, collective, name), MPI_SUCCESS);
  }
  CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
  Random common(context.seed);
  const auto ranks = static_cast<std::size_t>(context.ranks);
  for (int call = 0; call < (context.quick ? 100 : 300); ++call) {
    const std::size_t count = common.below(2) == 0 ? 2 : 20000;
    const auto root = static_cast<int>(common.below(ranks));
    const std::vector<std::int64_t> in(count * ranks, call);
    std::vector<std::int64_t> out(in.size(), context.rank == root ? call : -1);
    const int each = static_cast<int>(count);
    const std::uint64_t kind = common.below(4);
    if (kind == 0) {
      latecomer_bcast(out.data(), each, MPI_INT64_T, root, comm);
    } else if (kind == 1) {
      latecomer_scatter(in.data(), each, MPI_INT64_T, out.data(), each, MPI_INT64_T, root, comm);
    } else if (kind == 2) {
      latecomer_gather(in.data(), each, MPI_INT64_T, out.data(), each, MPI_INT64_T, root, comm);
    } else {
      latecomer_reduce(in.data(), out.data(), each, MPI_INT64_T, MPI_SUM, root, comm);
    }
    const std::int64_t expected = kind == 3 ? call * context.ranks : call;
    if (kind < 2 || context.rank == root) CHECK_EQ(out[count - 1], expected);
  }
  CHECK_EQ(stats_of(comm).failed, 0U);
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
MPI_TEST(messages_do_not_outlive_their_communicator) {
  if (!applies(context)) return;
  const Kinds kinds;
  for (std::uint64_t i = 0; i < (context.quick ? 20 : 60); ++i) {
    const Communicator comm;
    const Communicator copy(static_cast<MPI_Comm>(comm));
    for (MPI_Comm each : {static_cast<MPI_Comm>(comm), static_cast<MPI_Comm>(copy)}) {
      latecomer_set_algorithm(each, "allreduce", "sorted_linear_tree");
      latecomer_set_estimate(each, "online");
      latecomer_compute_begin(each);
      for (const double part : {0.1, 0.2, 0.9})
        CHECK_EQ(latecomer_compute_progress(each, part), MPI_SUCCESS);
    }
    if (i % 3 == 0) {
      try_allreduce(copy, kinds.named("int sum"), {kMany, false, 0}, context.seed + i, "copy");
    }
    latecomer_compute_progress(copy, 0.95);
  }
}

/// MPI_Finalize finds communicators that were not freed, with messages under way.
MPI_TEST(communicators_may_be_left_to_finalize) {
  const Kinds kinds;
  for (int i = 0; i < 3; ++i) {
    MPI_Comm left = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &left);
    latecomer_set_algorithm(left, "allreduce", "sorted_linear_tree");
    latecomer_set_estimate(left, "online");
    try_allreduce(left, kinds.named("int sum"), {kMany, false, 0}, context.seed, "left");
    latecomer_compute_begin(left);
    CHECK_EQ(latecomer_compute_progress(left, 0.5), MPI_SUCCESS);
  }
}

}  // namespace
}  // namespace latecomer::testing
