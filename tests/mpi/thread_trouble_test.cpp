// The progress thread: every failure is named, and calls go on.
#include <mutex>

#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "runtime/attachment.hpp"
#include "runtime/progress/async_progress.hpp"
#include "thread_helpers.hpp"
#include "try_reduction.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

/// Rank 0's progress thread cannot take the lock: the others report that they wait for it, and go
/// on.
MPI_TEST(a_long_wait_for_the_plan_is_reported) {
  if (!applies(context)) return;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  compare_settings_first(comm);
  latecomer_set_long_wait(comm, 0.05);
  std::vector<int> mine(kMany, 1), result(mine);
  if (context.rank == 0) {
    const std::lock_guard hold(state_of(comm).lock);
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
  call_differently(context, 1, kMany, "failed in call");  // which another rank notices
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
  CHECK(state_of(comm).async_progress == nullptr);
  const std::string words = "and " + std::to_string(context.ranks - 1) + " can have it";
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
    CHECK(state_of(comm).async_progress == nullptr);
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
    CHECK(state_of(comm).async_progress == nullptr);
    const bool told =
        log.find("'perhaps' is not usable; right would be none or thread") != std::string::npos;
    CHECK_EQ(told, i == 0 && context.rank == 0);  // which speaks for the job
  }
}

}  // namespace
}  // namespace latecomer::testing
