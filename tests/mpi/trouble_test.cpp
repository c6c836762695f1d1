// When something is wrong: ranks that follow different plans get an error, not wrong data and not
// a hang; a long wait is reported and goes on.
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runtime/attachment.hpp"
#include "runtime/call/run.hpp"
#include "runtime/connection/introduction.hpp"
#include "try_reduction.hpp"
#include "with_thread.hpp"

namespace latecomer::testing {
namespace {

void sleep_for(Seconds seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

struct Ended {
  int code;
  std::string error;
  std::string log;
};

/// One call that is expected to fail.
Ended failing_call(MPI_Comm comm, int count) {
  std::vector<int> mine(static_cast<std::size_t>(count), 1);
  std::vector<int> result(mine.size());
  CapturedStderr captured;
  const int code = latecomer_allreduce(mine.data(), result.data(), count, MPI_INT, MPI_SUM, comm);
  return {code, last_error(), captured.text()};
}

/// Each rank believes itself to be the last one, or the first.
void believe(const Context& context, MPI_Comm comm, bool last) {
  std::vector<double> arrivals(static_cast<std::size_t>(context.ranks), 1.0);
  arrivals[static_cast<std::size_t>(context.rank)] = last ? 2.0 : 0.0;
  latecomer_set_arrivals(comm, arrivals.data(), context.ranks);
}

void expect_disagreement(const Context& context, MPI_Comm comm, const Ended& ended) {
  CHECK_EQ(ended.code, disagreement_class());
  CHECK_TEXT(ended.error.find("plan") != std::string::npos ||
                 ended.error.find("failed in call") != std::string::npos,
             ended.error);
  CHECK_TEXT(ended.log.find("latecomer: rank") != std::string::npos, ended.log);
  const std::string host = introduction_of_place().host.data();
  CHECK_TEXT(ended.error.find("is on host " + host) != std::string::npos, ended.error);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(ended.code, text, &length);
  CHECK_TEXT(std::string(text).find("latecomer") != std::string::npos, text);
  // At least one rank found it by itself.
  const int named = ended.error.find("follows another plan") != std::string::npos ? 1 : 0;
  int anybody = 0;
  MPI_Allreduce(&named, &anybody, 1, MPI_INT, MPI_MAX, comm);
  CHECK_EQ(anybody, 1);
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  CHECK_EQ(stats.failed, 1U);
  CHECK_EQ(stats.handled, 0U);
  (void)context;
}

void disagree(const Context& context, bool last, int count) {
  if (context.ranks == 1 || with_thread()) return;
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree:segments=5");
  latecomer_set_long_wait(comm, 0.2);
  believe(context, comm, last);
  expect_disagreement(context, comm, failing_call(comm, count));
  // The communicator is of no further use, and says so.
  const Ended again = failing_call(comm, count);
  CHECK(again.code != MPI_SUCCESS);
  CHECK_TEXT(again.error.find("failed earlier") != std::string::npos, again.error);
}

/// All of them wait for all others: no message ever leaves.
MPI_TEST(everybody_believes_to_be_last) { disagree(context, true, 100); }

/// All of them send, and wait for the result.
MPI_TEST(everybody_believes_to_be_first) { disagree(context, false, 100); }

MPI_TEST(everybody_believes_to_be_first_with_long_messages) { disagree(context, false, 400000); }

/// One rank's belief is announced.
MPI_TEST(with_progress_threads_there_is_nothing_to_disagree_on) {
  if (!with_thread()) return;
  const Kinds kinds;
  const Communicator comm;
  latecomer_set_algorithm(comm, "allreduce", "sorted_linear_tree:segments=5");
  believe(context, comm, false);
  try_allreduce(comm, kinds.named("int sum"), {400000, false, 0}, context.seed, "first");
}

/// The first messages differ in length: more than fits, or less than expected.
MPI_TEST(ranks_that_disagree_on_the_segments) {
  if (context.ranks == 1 || with_thread()) return;
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "linear_tree:segments=4");
  latecomer_set_long_wait(comm, 0.2);
  if (context.rank % 2 == 1)
    state_of(comm).choice(Collective::allreduce).parameters["segments"] = 2;
  expect_disagreement(context, comm, failing_call(comm, 1000));
}

/// Rank 0 calls with one element fewer than the others. Ranks whose part is over are done, and know
/// of no failure; freeing the communicator must not wait for those that failed.
template <class Call>
void disagree_on_the_length(const Context& context, const char* collective, const char* algorithm,
                            const Call& call) {
  if (context.ranks == 1 || with_thread()) return;
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, collective, algorithm);
  latecomer_set_long_wait(comm, 0.2);
  const int count = context.rank == 0 ? 1000 : 1001;
  std::vector<int> mine(static_cast<std::size_t>(count), 1);
  int failed = 0;
  {
    const CapturedStderr captured;
    const int code = call(mine, comm);
    failed = code == disagreement_class() ? 1 : 0;
    CHECK(code == MPI_SUCCESS || failed == 1);
  }
  int anybody = 0;
  MPI_Allreduce(&failed, &anybody, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK_EQ(anybody, 1);
}

MPI_TEST(ranks_that_disagree_on_the_length_in_a_protocol) {
  const auto reduce = [&](std::vector<int>& mine, MPI_Comm comm) {
    std::vector<int> result(mine.size());
    return latecomer_reduce(mine.data(), result.data(), static_cast<int>(mine.size()), MPI_INT,
                            MPI_SUM, context.ranks - 1, comm);
  };
  disagree_on_the_length(context, "reduce", "local_redirect", reduce);
  const auto bcast = [&](std::vector<int>& mine, MPI_Comm comm) {
    return latecomer_bcast(mine.data(), static_cast<int>(mine.size()), MPI_INT, context.ranks - 1,
                           comm);
  };
  disagree_on_the_length(context, "bcast", "arrival_b", bcast);
  disagree_on_the_length(context, "bcast", "arrival_nb", bcast);
}

void wait_for_a_question(const CommState& state) {
  for (int found = 0; found == 0; sleep_for(1e-3)) {
    const Link& link = state.resources->comm->link();
    MPI_Iprobe(MPI_ANY_SOURCE, link.tag(Tags::kFailures), link.comm(), &found, MPI_STATUS_IGNORE);
  }
}

/// The last rank has no elements, so that its call is the MPI library's; by then the others have
/// asked where it is. `calls`: before that one, all ranks alike.
void one_rank_has_no_elements(const Context& context, int calls) {
  if (context.ranks == 1 || with_thread()) return;
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "ring");
  for (int i = 0; i < calls; ++i) {
    int one = 1;
    int all = 0;
    CHECK_EQ(latecomer_allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    // All ranks leave this call to the MPI library, so it says nothing about any of them.
    CHECK_EQ(latecomer_allreduce(&one, &all, 0, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  }
  MPI_Barrier(comm);
  latecomer_set_long_wait(comm, 0.05);
  const bool odd = context.rank == context.ranks - 1;
  if (odd) wait_for_a_question(state_of(comm));
  const Ended ended = failing_call(comm, odd ? 0 : 100);
  CHECK_EQ(ended.code, disagreement_class());
  if (odd) {
    CHECK_TEXT(ended.error.find("which this rank left to the MPI library") != std::string::npos,
               ended.error);
  } else {
    CHECK_TEXT(ended.error.find("failed in call") != std::string::npos, ended.error);
  }
  const char* const words = "; a rank that is waited for may be in the MPI library";
  int said = ended.log.find(words) != std::string::npos ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &said, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK_EQ(said, 1);
}

MPI_TEST(a_rank_in_the_mpi_library_hears_of_the_others) { one_rank_has_no_elements(context, 2); }

MPI_TEST(a_rank_in_the_mpi_library_hears_of_them_in_the_first_call) {
  one_rank_has_no_elements(context, 0);
}

/// Repeats a call that takes part without waiting until the others' failure is heard of.
Ended until_it_fails(MPI_Comm comm, std::vector<int>& data) {
  CapturedStderr captured;
  int code = MPI_SUCCESS;
  for (int i = 0; i < 1000 && code == MPI_SUCCESS; ++i) {
    code = latecomer_bcast(data.data(), static_cast<int>(data.size()), MPI_INT, 0, comm);
    sleep_for(1e-3);
  }
  return {code, last_error(), captured.text()};
}

/// Four ranks: 1 and 3 wait for 0, which has sent to 2 and has left, as 2 has. The ranks that 1 and
/// 3 wait for are no longer in the call, and the two must detect this by themselves.
MPI_TEST(ranks_that_wait_for_others_that_have_left) {
  if (context.ranks < 4 || with_thread()) return;
  MPI_Comm four = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, context.rank < 4 ? 0 : MPI_UNDEFINED, context.rank, &four);
  if (four == MPI_COMM_NULL) return;
  {
    const Communicator parent(four);
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    latecomer_set_algorithm(parent, "bcast", "sorted_linear:segments=1");
    latecomer_set_long_wait(parent, 0.1);
    std::vector<double> arrivals(4, 2.0);
    arrivals[context.rank % 2 == 1 ? static_cast<std::size_t>(context.rank) : 2] = 1.0;
    latecomer_set_arrivals(parent, arrivals.data(), 4);
    std::vector<int> data(10, context.rank);
    if (context.rank % 2 == 1) {
      CapturedStderr captured;
      CHECK_EQ(latecomer_bcast(data.data(), 10, MPI_INT, 0, parent), disagreement_class());
      const std::string what = "bcast of 40 bytes with root 0 by sorted_linear";
      const std::string log = captured.text();
      const std::string error = last_error();
      CHECK_TEXT(log.find('(' + what + "): waiting for") != std::string::npos, log);
      CHECK_TEXT(error.find("; here it is " + what) != std::string::npos, error);
    } else {
      CHECK_EQ(latecomer_bcast(data.data(), 10, MPI_INT, 0, parent), MPI_SUCCESS);
    }
    MPI_Barrier(four);
    const Ended later = until_it_fails(parent, data);
    CHECK_EQ(later.code, disagreement_class());
    CHECK_TEXT(later.error.find("failed") != std::string::npos ||
                   later.error.find("follows another plan") != std::string::npos,
               later.error);
  }
  MPI_Comm_free(&four);
}

/// The user's error handler is called, with the code that is returned.
int handled_code = MPI_SUCCESS;
void note_code(MPI_Comm*, int* code, ...) { handled_code = *code; }

MPI_TEST(errors_go_through_the_communicators_handler) {
  if (context.ranks == 1 || with_thread()) return;
  const Communicator comm;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(note_code, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  latecomer_set_algorithm(comm, "allreduce", "linear_tree:segments=4");
  latecomer_set_long_wait(comm, 0.2);
  if (context.rank == 0) state_of(comm).choice(Collective::allreduce).parameters["segments"] = 5;
  const Ended ended = failing_call(comm, 1000);
  CHECK_EQ(ended.code, disagreement_class());
  CHECK_EQ(handled_code, ended.code);
  MPI_Errhandler_free(&handler);
}

/// A failure in one call must not let a receive write into the buffers later.
MPI_TEST(buffers_are_left_alone_after_a_failure) {
  if (context.ranks == 1 || with_thread()) return;
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "ring");
  latecomer_set_long_wait(comm, 0.1);
  if (context.rank == 0) {
    state_of(comm).choice(Collective::allreduce) = {
        &find_algorithm(Collective::allreduce, "linear_tree"), {}};
  }
  std::vector<int> mine(50000, 1);
  std::vector<int> result(mine.size());
  CapturedStderr captured;
  CHECK(latecomer_allreduce(mine.data(), result.data(), 50000, MPI_INT, MPI_SUM, comm) !=
        MPI_SUCCESS);
  const std::vector<int> before = result;
  MPI_Barrier(MPI_COMM_WORLD);
  sleep_for(0.05);
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(result == before);
}

/// Rank 0 waits until a report was due, however slow the machine is; the test requires no number of
/// seconds.
MPI_TEST(a_long_wait_is_reported_and_goes_on) {
  if (context.ranks == 1) return;
  const Kinds kinds;
  const Communicator comm;
  MPI_Comm_set_name(comm, "halo");
  latecomer_set_algorithm(comm, "allreduce", "linear_tree");
  latecomer_set_long_wait(comm, 0.02);
  const bool late = context.rank == context.ranks - 1;
  CapturedStderr captured;
  // All but the late one wait for its result.
  for (std::uint64_t call = 0; call < 2; ++call) {
    try_allreduce(comm, kinds.named("int sum"), {100, false, late ? 0.3 : 0.0}, context.seed + call,
                  "late");
  }
  const std::string log = captured.text();
  if (!late) {
    const std::string who = "rank " + std::to_string(context.rank) + " of 'halo'";
    CHECK_TEXT(log.find(who) != std::string::npos, log);
    CHECK_TEXT(log.find("call 1: waiting for") != std::string::npos, log);
    CHECK_TEXT(log.find("to receive from rank ") != std::string::npos, log);
  }
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  CHECK_EQ(stats.handled, 2U);
  CHECK_EQ(stats.failed, 0U);
}

}  // namespace
}  // namespace latecomer::testing
