// Scratch memory that all communicators share.
#include <dlfcn.h>

#include <chrono>
#include <thread>
#include <vector>

#include "allocations.hpp"
#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "transports/mpi/memory.hpp"
#include "variable.hpp"

namespace {
int cancelled = 0;  // requests, by the library under test
}

/// In place of the MPI library's, to count.
extern "C" int PMPI_Cancel(MPI_Request* request) {
  static const auto cancel =
      reinterpret_cast<decltype(&PMPI_Cancel)>(dlsym(RTLD_NEXT, "PMPI_Cancel"));
  ++cancelled;
  return cancel(request);
}

namespace latecomer::testing {
namespace {

constexpr std::size_t kLong = 4 * Scratch::kKept;

/// One call that needs so many bytes. Returns where.
void* call(std::size_t bytes) {
  Scratch scratch;
  return scratch.reserve(Layout(MPI_BYTE), 1, static_cast<Count>(bytes));
}

/// Many short ones: whatever cases before this one needed is forgotten.
void forget() {
  for (std::size_t i = 0; i < Scratch::kRecentCalls; ++i) (void)call(1000);
}

MPI_TEST(calls_one_after_another_use_the_same_scratch) {
  forget();
  void* const place = call(1000);
  CHECK_EQ(call(1000), place);
  CHECK_EQ(call(100), place);
  CHECK_EQ(fewest_allocations(3, [] { (void)call(1000); }), 0U);
  Scratch one;
  Scratch other;
  const Layout bytes(MPI_BYTE);
  CHECK(one.reserve(bytes, 1, 1000) != other.reserve(bytes, 1, 1000));
  CHECK(one.reserve(bytes, 1, 0) == nullptr);
}

MPI_TEST(scratch_of_one_long_call_is_freed) {
  forget();
  (void)call(kLong);
  CHECK(Scratch::unused() <= Scratch::kKept);
}

MPI_TEST(scratch_of_long_calls_is_kept_while_they_come) {
  forget();
  (void)call(kLong);
  (void)call(kLong);
  CHECK(Scratch::unused() >= kLong);
  (void)call(1000);
  CHECK_EQ(fewest_allocations(1, [] { (void)call(kLong); }), 0U);
  for (std::size_t i = 0; i < Scratch::kRecentCalls; ++i) (void)call(0);  // needs none
  CHECK(Scratch::unused() <= Scratch::kKept);
}

MPI_TEST(scratch_in_use_by_mpi_is_never_used_again) {
  forget();
  Scratch scratch;
  void* const place = scratch.reserve(Layout(MPI_BYTE), 1, 5000);
  scratch.abandon();
  CHECK_EQ(scratch.capacity(), 0U);
  CHECK(call(5000) != place);
}

void allreduce(MPI_Comm comm, std::size_t bytes) {
  const std::vector<int> mine(bytes / sizeof(int), 1);
  std::vector<int> result(mine.size());
  CHECK_EQ(latecomer_allreduce(mine.data(), result.data(), static_cast<int>(mine.size()), MPI_INT,
                               MPI_BOR, comm),
           MPI_SUCCESS);
}

MPI_TEST(calls_of_all_communicators_give_their_scratch_back) {
  if (context.ranks == 1) return;
  forget();
  const Variable alone("LATECOMER_PROGRESS", "none");  // a call that is begun ahead has scratch
  for (int i = 0; i < 3; ++i) {
    const Communicator comm;
    latecomer_set_algorithm(comm, "allreduce", "linear_tree:segments=1");
    allreduce(comm, 4000);
    CHECK_EQ(state_of(comm).resources->scratch.capacity(), 0U);
    CHECK(Scratch::unused() >= 4000);
    allreduce(comm, Scratch::kKept + 1000);
    CHECK_EQ(state_of(comm).resources->scratch.capacity(), 0U);
    for (std::size_t call = 0; call < Scratch::kRecentCalls; ++call) allreduce(comm, 4000);
    CHECK(Scratch::unused() <= Scratch::kKept);
  }
}

MPI_TEST(calls_that_fail_give_their_scratch_up) {
  if (context.ranks == 1) return;
  forget();
  const Variable alone("LATECOMER_PROGRESS", "none");
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "linear_tree");
  latecomer_set_long_wait(comm, 0.1);
  if (context.rank == 0) state_of(comm).choice(Collective::allreduce).parameters["segments"] = 5;
  const std::vector<int> mine(1000, 1);
  std::vector<int> result(1000);
  const CapturedStderr captured;
  CHECK(latecomer_allreduce(mine.data(), result.data(), 1000, MPI_INT, MPI_SUM, comm) !=
        MPI_SUCCESS);
  CHECK_EQ(state_of(comm).resources->scratch.capacity(), 0U);
}

bool freed_too_early = false;

/// One rank lacks memory for a call's result, so that the others wait for its messages in vain.
MPI_TEST(memory_of_a_failed_call_outlives_its_messages) {
  if (context.ranks < 3) return;
  const Communicator comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allgather", "ring");
  constexpr int kElements = 1 << 16;
  MPI_Datatype with_holes = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &with_holes);
  MPI_Type_commit(&with_holes);
  const std::vector<int> mine(kElements, 1);
  std::vector<int> all(2 * mine.size() * static_cast<std::size_t>(context.ranks));
  const auto gather = [&] {
    return latecomer_allgather(mine.data(), kElements, MPI_INT, all.data(), kElements, with_holes,
                               comm);
  };
  CHECK_EQ(gather(), MPI_SUCCESS);
  const std::size_t packed = mine.size() * sizeof(int) * static_cast<std::size_t>(context.ranks);
  const bool lacks = context.rank == context.ranks - 1;
  if (lacks) std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the others wait inside
  if (lacks) fail_request(packed);
  cancelled = 0;
  freed_too_early = false;
  watch_frees(packed, [] { freed_too_early = freed_too_early || cancelled == 0; });
  CHECK(gather() != MPI_SUCCESS);
  watch_frees(0, nullptr);
  CHECK(lacks || !freed_too_early);
  MPI_Type_free(&with_holes);
}

}  // namespace
}  // namespace latecomer::testing
