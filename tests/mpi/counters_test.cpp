// The calls that are handled and those that go to the MPI library; the statistics tell the reasons.
#include <type_traits>
#include <vector>

#include "capi/mpi/calls.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/attachment.hpp"
#include "runtime/call/call.hpp"
#include "try_reduction.hpp"

namespace latecomer::testing {
namespace {

static_assert(std::is_trivially_copyable_v<Call>);  // making one allocates nothing

MPI_TEST(native_until_told_otherwise) {
  const Kinds kinds;
  const Communicator comm;
  try_allreduce(comm, kinds.named("int sum"), {10, false, 0}, context.seed, "default");
  CHECK_EQ(stats_of(comm).native, 1U);
  CHECK_EQ(stats_of(comm).handled, 0U);
}

MPI_TEST(handled_calls_are_counted) {
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  try_allreduce(comm, kinds.named("int sum"), {10, false, 0}, context.seed, "ring");
  try_allreduce(comm, kinds.named("int sum"), {0, false, 0}, context.seed, "ring");
  const bool alone = context.ranks == 1;
  CHECK_EQ(stats_of(comm).handled, alone ? 0U : 1U);
  CHECK_EQ(stats_of(comm).fallback_trivial, alone ? 2U : 1U);
}

MPI_TEST(rank_order_is_kept_by_falling_back) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "ring");
  try_allreduce(comm, kinds.named("affine"), {10, false, 0}, context.seed, "ring");
  CHECK_EQ(stats_of(comm).fallback_operator, 1U);
}

/// Reads the call alone where the MPI library would get the call: Open MPI does not survive it.
MPI_TEST(null_is_no_buffer_but_the_bottom_of_addresses) {
  int value = context.rank;
  Call call;
  call.collective = Collective::bcast;
  call.recvcount = 1;
  call.recvtype = MPI_INT;
  CHECK(!checked_problem_of(call, context.ranks, context.rank, MPI_COMM_NULL));
  call.recvbuf = &value;
  CHECK(checked_problem_of(call, context.ranks, context.rank, MPI_COMM_NULL));
  call.recvbuf = nullptr;
  call.recvcount = 0;
  CHECK(checked_problem_of(call, context.ranks, context.rank, MPI_COMM_NULL));
  const int length = 1;
  MPI_Aint address = 0;
  MPI_Get_address(&value, &address);
  MPI_Datatype absolute = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  const Communicator comm;
  latecomer_set_algorithm(comm, "bcast", "binomial");
  CHECK_EQ(latecomer_bcast(MPI_BOTTOM, 1, absolute, 0, comm), MPI_SUCCESS);
  CHECK_EQ(value, 0);
  CHECK_EQ(stats_of(comm).fallback_arguments, 0U);
  MPI_Type_free(&absolute);
}

MPI_TEST(parts_that_differ_need_counts_and_places) {
  std::vector<int> counts(static_cast<std::size_t>(context.ranks), 1);
  std::vector<int> all(counts.size());
  const int mine = 1;
  const auto made = [&](const int* recvcounts, const int* displs) {
    return calls::allgatherv(&mine, 1, MPI_INT, all.data(), recvcounts, displs, MPI_INT,
                             MPI_COMM_WORLD, nullptr);
  };
  CHECK(!checked_problem_of(made(nullptr, counts.data()), context.ranks, context.rank,
                            MPI_COMM_NULL));
  CHECK(!checked_problem_of(made(counts.data(), nullptr), context.ranks, context.rank,
                            MPI_COMM_NULL));
  const Call right = made(counts.data(), counts.data());
  const auto problem = checked_problem_of(right, context.ranks, context.rank, MPI_COMM_NULL);
  CHECK(problem && *problem == problem_of(right, context.ranks, context.rank));
  CHECK(problem && problem->count == context.ranks * Count{sizeof(int)});
}

MPI_TEST(wrong_arguments_get_the_base_librarys_error) {
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "ring");
  int value = 1;
  int result = 0;
  CHECK(latecomer_allreduce(&value, &result, 1, MPI_INT, MPI_OP_NULL, comm) != MPI_SUCCESS);
  // Some libraries accept the same buffer twice, others do not: that is theirs to say.
  const int base = class_of(MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQ(class_of(latecomer_allreduce(&value, &value, 1, MPI_INT, MPI_SUM, comm)), base);
  CHECK_EQ(stats_of(comm).fallback_arguments, 2U);
  CHECK_EQ(stats_of(comm).failed, 0U);
}

MPI_TEST(a_datatype_that_is_not_committed_is_refused_and_the_next_call_goes_on) {
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "bcast", "binomial");
  std::vector<int> data(8, context.rank);
  CHECK_EQ(latecomer_bcast(data.data(), 8, MPI_INT, 0, comm), MPI_SUCCESS);  // links the ranks
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  const int base = class_of(MPI_Bcast(data.data(), 4, pair, 0, comm));
  CHECK_EQ(class_of(latecomer_bcast(data.data(), 4, pair, 0, comm)), base);
  MPI_Type_commit(&pair);
  data.assign(8, context.rank);
  CHECK_EQ(latecomer_bcast(data.data(), 4, pair, 0, comm), MPI_SUCCESS);
  CHECK(data == std::vector<int>(8, 0));
  CHECK_EQ(stats_of(comm).failed, 0U);
  MPI_Type_free(&pair);
}

MPI_TEST(operators_that_do_not_fit_get_the_base_librarys_error) {
  if (context.ranks == 1) return;
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "ring");
  double value = 1;
  double result = 0;
  CHECK(latecomer_allreduce(&value, &result, 1, MPI_DOUBLE, MPI_BAND, comm) != MPI_SUCCESS);
  CHECK_EQ(stats_of(comm).fallback_type, 1U);
}

MPI_TEST(pairs_are_reduced_with_their_places) {
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "segmented_ring");
  struct Pair {
    double value;
    int place;
  };
  std::vector<Pair> mine(50, Pair{static_cast<double>(context.rank), context.rank});
  std::vector<Pair> result(50);
  CHECK_EQ(latecomer_allreduce(mine.data(), result.data(), 50, MPI_DOUBLE_INT, MPI_MAXLOC, comm),
           MPI_SUCCESS);
  for (const Pair& pair : result) CHECK_EQ(pair.place, context.ranks - 1);
}

MPI_TEST(intercommunicators_go_to_the_mpi_library) {
  if (context.ranks == 1) return;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  const int side = context.rank % 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, context.rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 7, &inter);
  CHECK_EQ(latecomer_set_algorithm(inter, "allreduce", "ring"), MPI_ERR_COMM);
  CHECK_EQ(latecomer_set_reproducible(inter, side), MPI_ERR_COMM);
  CHECK_EQ(latecomer_set_estimate(inter, "online"), MPI_ERR_COMM);
  state_of(inter).choice(Collective::allreduce) = {&find_algorithm(Collective::allreduce, "ring"),
                                                   {}};
  int value = 1;
  int result = 0;
  CHECK_EQ(latecomer_allreduce(&value, &result, 1, MPI_INT, MPI_SUM, inter), MPI_SUCCESS);
  CHECK_EQ(result, side == 0 ? context.ranks / 2 : (context.ranks + 1) / 2);
  CHECK_EQ(stats_of(inter).fallback_intercommunicator, 1U);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

}  // namespace
}  // namespace latecomer::testing
