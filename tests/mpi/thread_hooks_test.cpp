// Hooks in a computing phase: they tell the late ranks, whatever values they are given.
#include <algorithm>
#include <cmath>

#include "communicator.hpp"
#include "runtime/attachment.hpp"
#include "runtime/progress/async_progress.hpp"
#include "thread_helpers.hpp"
#include "try_reduction.hpp"

namespace latecomer::testing {
namespace {

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
      CHECK_EQ(latecomer_compute_progress(comm, 0.001), MPI_SUCCESS);  // 20 s to go
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // Until rank 0 has surely read it.
    for (int i = 0; context.rank == 0 && late != 0 && i < 50; ++i) {
      sleep_for(0.002);
      CHECK_EQ(latecomer_compute_begin(comm), MPI_SUCCESS);
    }
    try_allreduce(comm, kinds.named("int sum"), {kMany, false, 0}, context.seed, "hooks");
    CHECK_EQ(state_of(comm).async_progress->prepared()->plan.order.back(), late);
  }
}

/// The order of combining depends on no report.
MPI_TEST(hooks_change_nothing_in_reproducible_mode) {
  if (!applies(context)) return;
  const Kinds kinds;
  std::vector<std::vector<Rank>> orders;
  for (int late = 0; late < std::min(context.ranks, 2); ++late) {
    const Communicator comm;
    latecomer_set_reproducible(comm, 1);
    latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree:segments=4");
    latecomer_set_estimate(comm, "online");
    if (context.rank == late) {
      latecomer_compute_begin(comm);
      sleep_for(0.02);
      latecomer_compute_progress(comm, 0.001);  // 20 s to go
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; context.rank == 0 && late != 0 && i < 50; ++i) {
      sleep_for(0.002);
      latecomer_compute_begin(comm);
    }
    // So long that it is announced on the network that is assumed then.
    try_allreduce(comm, kinds.named("int sum"), {32 * kMany, false, 0}, context.seed,
                  "reproducible");
    CHECK(state_of(comm).async_progress->prepared() != nullptr);
    orders.push_back(state_of(comm).async_progress->prepared()->plan.order);
  }
  CHECK(orders.front() == orders.back());
}

MPI_TEST(hooks_that_are_wrong_cost_time_only) {
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree");
  latecomer_set_estimate(comm, "online");
  Random own(context.seed + static_cast<std::uint64_t>(context.rank));
  for (std::uint64_t i = 0; i < 10; ++i) {
    CHECK_EQ(latecomer_compute_begin(comm), MPI_SUCCESS);
    const double max = own.uniform();
    for (const double part : {0.01, 0.3, 1.0})
      CHECK_EQ(latecomer_compute_progress(comm, part * max), MPI_SUCCESS);
    sleep_for(0.01 * own.uniform());
    if (own.next() % 2 == 0) CHECK_EQ(latecomer_compute_end(comm), MPI_SUCCESS);
    try_allreduce(comm, kinds.named("float sum"), {kMany, false, 0}, context.seed + i, "hooks");
  }
}

/// The deprecated name does the same.
MPI_TEST(an_edge_is_progress) {
  const Communicator comm;
  CHECK_EQ(latecomer_edge(comm, 0.25), MPI_ERR_ARG);
  CHECK_TEXT(error_names("call latecomer_compute_begin first"), latecomer_last_error());
  CHECK_EQ(latecomer_compute_begin(comm), MPI_SUCCESS);
  CHECK_EQ(latecomer_edge(comm, 0.25), MPI_SUCCESS);
  CHECK_EQ(state_of(comm).phase.fraction(), 0.25);
  CHECK_EQ(latecomer_compute_end(comm), MPI_SUCCESS);
}

MPI_TEST(hooks_refuse_what_makes_no_sense) {
  const Communicator comm;
  CHECK_EQ(latecomer_compute_progress(comm, 0.5), MPI_ERR_ARG);
  CHECK_TEXT(error_names("call latecomer_compute_begin first"), latecomer_last_error());
  CHECK_EQ(latecomer_compute_end(comm), MPI_ERR_ARG);
  CHECK_TEXT(error_names("call latecomer_compute_begin first"), latecomer_last_error());
  CHECK_EQ(latecomer_compute_begin(comm), MPI_SUCCESS);
  CHECK_EQ(latecomer_compute_progress(comm, 0.5), MPI_SUCCESS);
  for (const double wrong : {-0.1, 1.1, std::nan("")}) {
    CHECK_EQ(latecomer_compute_progress(comm, wrong), MPI_ERR_ARG);
    CHECK_TEXT(error_names("from 0 to 1"), latecomer_last_error());
  }
  for (const double before : {0.5, 0.2, 0.0}) {
    CHECK_EQ(latecomer_compute_progress(comm, before), MPI_ERR_ARG);
    CHECK_TEXT(error_names("above 0.5"), latecomer_last_error());
  }
  CHECK_EQ(state_of(comm).phase.fraction(), 0.5);
  CHECK_EQ(latecomer_compute_end(comm), MPI_SUCCESS);
  CHECK_EQ(latecomer_compute_progress(comm, 0.9), MPI_ERR_ARG);
  CHECK_EQ(latecomer_compute_begin(MPI_COMM_NULL), MPI_ERR_COMM);
}

}  // namespace
}  // namespace latecomer::testing
