// State belongs to one communicator: it is not copied, and it goes with the communicator.
#include <memory>

#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/attachment.hpp"
#include "runtime/progress/async_progress.hpp"
#include "try_reduction.hpp"

extern "C" int latecomer_test_c_header(MPI_Comm comm);

namespace latecomer::testing {
namespace {

MPI_TEST(a_copy_starts_afresh) {
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  try_allreduce(comm, kinds.named("int sum"), {99, false, 0}, context.seed, "ring");
  const Communicator copy(static_cast<MPI_Comm>(comm));
  try_allreduce(copy, kinds.named("int sum"), {99, false, 0}, context.seed, "copy");
  latecomer_stats stats{};
  latecomer_get_stats(copy, &stats);
  CHECK_EQ(stats.native, 1U);
  CHECK_EQ(stats.handled, 0U);
}

MPI_TEST(halves_work_at_the_same_time) {
  const Kinds kinds;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, context.rank % 2, -context.rank, &half);
  CHECK_EQ(latecomer_set_algorithm(half, "allreduce",
                                   context.rank % 2 == 0 ? "ring" : "sorted_linear_tree"),
           MPI_SUCCESS);
  for (std::uint64_t i = 0; i < 10; ++i) {
    try_allreduce(half, kinds.named("holes"), {static_cast<Count>(13 * i + 1), i % 2 == 0, 0},
                  context.seed + i, "half");
  }
  MPI_Comm_free(&half);
}

/// Contexts of communicators are few: thousands of them must not pile up.
MPI_TEST(many_communicators_come_and_go) {
  const Kinds kinds;
  for (std::uint64_t i = 0; i < (context.quick ? 50 : 300); ++i) {
    const Communicator comm;
    latecomer_set_algorithm(comm, "allreduce", "ring");
    try_allreduce(comm, kinds.named("int sum"), {7, false, 0}, context.seed + i, "ring");
  }
}

MPI_TEST(many_communicators_are_in_use_at_once) {
  const Kinds kinds;
  const char* const algorithms[] = {"ring", "linear_tree", "fastest", "native"};
  std::vector<Communicator> all;
  for (std::size_t i = 0; i < 24; ++i) {
    all.emplace_back();
    latecomer_set_algorithm(all.back(), "allreduce", algorithms[i % 4]);
  }
  Random random(context.seed);
  for (int call = 0; call < 100; ++call) {
    const std::size_t which = random.below(all.size());
    try_allreduce(all[which], kinds.named("int sum"),
                  {static_cast<Count>(1 + random.below(400)), false, 0}, random.next(),
                  algorithms[which % 4]);
  }
}

MPI_TEST(a_communicator_may_be_disconnected) {
  const Kinds kinds;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  latecomer_set_algorithm(comm, "allreduce", "ring");
  latecomer_set_estimate(comm, "online");
  for (std::uint64_t call = 0; call < 3; ++call) {
    try_allreduce(comm, kinds.named("float sum"), {500, false, 0}, context.seed + call, "ring");
  }
  CHECK_EQ(MPI_Comm_disconnect(&comm), MPI_SUCCESS);
  CHECK(comm == MPI_COMM_NULL);
}

/// Calls on two communicators in turn, and the user's own messages among them.
MPI_TEST(own_messages_do_not_meet_the_librarys) {
  const Kinds kinds;
  const Communicator first;
  const Communicator second;
  latecomer_set_algorithm(first, "allreduce", "ring");
  latecomer_set_algorithm(second, "allreduce", "recursive_doubling");
  const int next = (context.rank + 1) % context.ranks;
  int came = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&came, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, first, &request);
  for (std::uint64_t i = 0; i < 10; ++i) {
    try_allreduce(i % 2 == 0 ? first : second, kinds.named("int sum"), {50, false, 0},
                  context.seed + i, "two communicators");
  }
  MPI_Send(&context.rank, 1, MPI_INT, next, 5, first);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK_EQ(came, (context.rank + context.ranks - 1) % context.ranks);
}

MPI_TEST(a_repeated_call_reuses_program_and_scratch) {
  if (context.ranks < 3) return;  // the ring of two needs no scratch
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  const auto call = [&](std::uint64_t seed) {
    try_allreduce(comm, kinds.named("float sum"), {1000, false, 0}, seed, "ring");
  };
  call(context.seed);
  const CommState& state = state_of(comm);
  const bool alone = !state.async_progress;  // otherwise the thread may have begun the next call
  if (alone) CHECK_EQ(state.resources->scratch.capacity(), 0U);  // given back
  const std::size_t scratch = Scratch::unused();
  if (alone) CHECK(scratch > 0);
  const std::vector<double> late(static_cast<std::size_t>(context.ranks), 1.0);
  for (std::uint64_t i = 1; i < 5; ++i) {
    call(context.seed + i);
    // Other arrivals, but the ring's plan does not depend on them.
    latecomer_set_arrivals(comm, late.data(), context.ranks);
  }
  CHECK_EQ(state.chooser.plans().plans_made(), alone ? 1U : 0U);  // announced ones are kept apart
  CHECK_EQ(state.programs.programs_built(), 1U);
  latecomer_set_network(comm, "alpha=1ms");  // may change any plan; this one it does not
  call(context.seed);
  CHECK_EQ(state.chooser.plans().plans_made(), alone ? 2U : 0U);
  CHECK_EQ(state.programs.programs_built(), 1U);
  if (alone) CHECK_EQ(Scratch::unused(), scratch);
}

/// The state attached to MPI_COMM_WORLD stays until MPI_Finalize.
MPI_TEST(the_world_can_be_used) {
  const Kinds kinds;
  CHECK_EQ(latecomer_set_algorithm(MPI_COMM_WORLD, "allreduce", "ring"), MPI_SUCCESS);
  try_allreduce(MPI_COMM_WORLD, kinds.named("float sum"), {5000, false, 0}, context.seed, "world");
  CHECK_EQ(latecomer_set_algorithm(MPI_COMM_WORLD, "allreduce", "native"), MPI_SUCCESS);
  CHECK_EQ(latecomer_test_c_header(MPI_COMM_WORLD), MPI_SUCCESS);
}

MPI_TEST(parameters_are_told) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "segmented_ring:segments=21");
  try_allreduce(comm, kinds.named("float sum"), {1000, false, 0}, context.seed, "segmented_ring");
  char text[64] = "";
  CHECK_EQ(latecomer_get_parameters(comm, text, sizeof text), MPI_SUCCESS);
  CHECK_EQ(std::string(text), "segments=21");
  CHECK_EQ(latecomer_get_parameters(comm, text, 4), MPI_SUCCESS);
  CHECK_EQ(std::string(text), "seg");
}

}  // namespace
}  // namespace latecomer::testing
