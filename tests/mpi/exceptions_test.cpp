// Exceptions of the program's pass through a call unchanged; our own become errors on all ranks.
#include <csetjmp>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "captured_stderr.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/attachment.hpp"
#include "runtime/call/run.hpp"
#include "transports/mpi/user_code.hpp"
#include "variable.hpp"
#include "with_thread.hpp"

namespace latecomer::testing {
namespace {

int handler_calls = 0;

void throw_class(MPI_Comm*, int* code, ...) {
  ++handler_calls;
  throw std::runtime_error("class " + std::to_string(class_of(*code)));
}

void throw_code(MPI_Comm*, int* code, ...) {
  ++handler_calls;
  throw std::runtime_error("code " + std::to_string(*code));
}

class Handler {
 public:
  Handler(MPI_Comm comm, MPI_Comm_errhandler_function* function) {
    MPI_Comm_create_errhandler(function, &handler_);
    MPI_Comm_set_errhandler(comm, handler_);
    handler_calls = 0;
  }
  ~Handler() { MPI_Errhandler_free(&handler_); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

/// The text of the exception that a call throws.
template <class Work>
std::string thrown_by(Work work) {
  try {
    work();
  } catch (const std::runtime_error& error) {
    return error.what();
  } catch (int number) {
    return std::to_string(number);
  }
  return "nothing";
}

/// An MPI library may hold a lock of its own while it calls the program's functions.
bool library_survives_exceptions() { return !with_thread(); }

MPI_TEST(an_exception_of_the_error_handler_passes) {
  if (!library_survives_exceptions()) return;
  const std::string wanted = "class " + std::to_string(MPI_ERR_ROOT);
  for (const char* const algorithm : {"native", "binomial"}) {
    const Communicator comm;
    latecomer_set_algorithm(comm, "bcast", algorithm);
    const Handler handler(comm, throw_class);
    int value = 0;
    const auto call = [&] { latecomer_bcast(&value, 1, MPI_INT, 99, comm); };
    CHECK_EQ(thrown_by(call), wanted);
    CHECK_EQ(handler_calls, 1);
    latecomer_request request = LATECOMER_REQUEST_NULL;
    latecomer_bcast_init(&value, 1, MPI_INT, 99, comm, MPI_INFO_NULL, &request);
    latecomer_start(&request);
    CHECK_EQ(thrown_by([&] { latecomer_wait(&request); }), wanted);
    CHECK_EQ(handler_calls, 2);
    CHECK_EQ(latecomer_request_free(&request), MPI_SUCCESS);  // it was waited for
    // Nothing stays locked.
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    CHECK_EQ(latecomer_bcast(&value, 1, MPI_INT, 0, comm), MPI_SUCCESS);
  }
}

/// The communicator is of no further use, and its handler throws that, once.
MPI_TEST(an_exception_of_the_error_handler_passes_after_a_failure) {
  if (context.ranks == 1 || !library_survives_exceptions()) return;
  const Communicator comm;
  latecomer_set_algorithm(comm, "bcast", "binomial");
  const Handler handler(comm, throw_code);
  state_of(comm).broken = "of the test";
  int value = 0;
  CHECK_EQ(thrown_by([&] { latecomer_bcast(&value, 1, MPI_INT, 0, comm); }),
           "code " + std::to_string(disagreement_class()));
  CHECK_EQ(handler_calls, 1);
}

void throw_an_exception(void*, void*, int*, MPI_Datatype*) {
  throw std::runtime_error("from the operator");
}
void throw_a_number(void*, void*, int*, MPI_Datatype*) { throw 42; }

/// The rank that combines first leaves; the others do not wait for it.
void operator_throws(const Context& context, MPI_User_function* function, const char* wanted) {
  if (context.ranks == 1 || !library_survives_exceptions()) return;
  auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "linear_tree");
  latecomer_set_long_wait(comm, 0.2);
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(function, 1, &op);
  std::vector<int> mine(1000, 1);
  std::vector<int> result(1000);
  int code = MPI_SUCCESS;
  const CapturedStderr captured;
  const std::string thrown = thrown_by(
      [&] { code = latecomer_allreduce(mine.data(), result.data(), 1000, MPI_INT, op, comm); });
  int threw = thrown == wanted ? 1 : 0;
  CHECK(threw == 1 || (thrown == "nothing" && code == disagreement_class()));
  int anybody = 0;
  MPI_Allreduce(&threw, &anybody, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(anybody > 0);
  latecomer_stats stats{};
  latecomer_get_stats(comm, &stats);
  CHECK_EQ(stats.failed, 1U);
  CHECK_EQ(latecomer_allreduce(mine.data(), result.data(), 1000, MPI_INT, MPI_SUM, comm),
           disagreement_class());
  MPI_Op_free(&op);
}

MPI_TEST(an_exception_of_an_operator_passes) {
  operator_throws(context, throw_an_exception, "from the operator");
}

MPI_TEST(a_number_that_an_operator_throws_passes) {
  operator_throws(context, throw_a_number, "42");
}

Seconds broken_clock() { throw std::runtime_error("the clock of the test"); }

/// One rank's own code throws: it returns an error, and the others do not wait for it.
MPI_TEST(an_exception_of_our_own_is_an_error_on_all_ranks) {
  if (context.ranks == 1) return;
  const Variable alone{"LATECOMER_PROGRESS", "none"};
  const auto comm = Communicator::returning_errors();
  latecomer_set_algorithm(comm, "allreduce", "ring");
  latecomer_set_long_wait(comm, 0.2);
  if (context.rank == 0) state_of(comm).resources->clocks = Clocks({}, broken_clock);
  const int mine = 1;
  int result = 0;
  const CapturedStderr captured;
  const int code = latecomer_allreduce(&mine, &result, 1, MPI_INT, MPI_SUM, comm);
  CHECK_EQ(code, context.rank == 0 ? MPI_ERR_OTHER : disagreement_class());
  if (context.rank == 0) {
    CHECK_TEXT(std::string(last_error()).find("the clock of the test") != std::string::npos,
               last_error());
  }
}

/// Runs the test for both callers of the handler: the MPI library, which refuses the root, and
/// latecomer.
template <class Test>
void for_both_who_raise(Test&& test) {
  for (const bool ours : {false, true}) {
    const Communicator comm;
    latecomer_set_algorithm(comm, "bcast", "binomial");
    test(comm, ours);
  }
}

int call_that_fails(MPI_Comm comm, bool ours) {
  int value = 0;
  if (ours) state_of(comm).broken = "of the test";
  return latecomer_bcast(&value, 1, MPI_INT, ours ? 0 : 99, comm);
}

CommLock* lock_in_question = nullptr;

/// Would wait for ever if this thread held the lock.
void take_the_turn_elsewhere() {
  std::thread([] { const std::lock_guard hold(*lock_in_question); }).join();
}

void take_turn(MPI_Comm*, int*, ...) {
  ++handler_calls;
  take_the_turn_elsewhere();
}

MPI_TEST(error_handlers_are_called_without_the_turn) {
  if (context.ranks == 1) return;
  for_both_who_raise([](MPI_Comm comm, bool ours) {
    const Handler handler(comm, take_turn);
    lock_in_question = &state_of(comm).lock;
    (void)call_that_fails(comm, ours);  // MPICH returns no error after a handler
    CHECK_EQ(handler_calls, 1);
  });
}

std::jmp_buf place_to_go_on;
void jump(MPI_Comm*, int*, ...) { std::longjmp(place_to_go_on, 1); }

void call_and_jump(MPI_Comm comm, bool ours) {
  if (setjmp(place_to_go_on) == 0) {
    (void)call_that_fails(comm, ours);
    CHECK(!"the handler was not called");
  }
}

/// Open MPI holds no lock of its own while it calls a handler.
bool library_survives_jumps() {
#ifdef OPEN_MPI
  return true;
#else
  return !with_thread();
#endif
}

/// As C programs do it. Neither other threads of the program nor the progress thread, which gets
/// the lock again with the next call, wait for the one that jumped.
MPI_TEST(nothing_stays_locked_when_an_error_handler_jumps) {
  if (context.ranks == 1 || !library_survives_jumps()) return;
  for_both_who_raise([](MPI_Comm comm, bool ours) {
    CommState& state = state_of(comm);
    lock_in_question = &state.lock;
    {
      const Handler handler(comm, jump);
      call_and_jump(comm, ours);
    }
    take_the_turn_elsewhere();
    state.broken.clear();
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    int value = 0;
    CHECK_EQ(latecomer_bcast(&value, 1, MPI_INT, 0, comm), MPI_SUCCESS);
    bool free = false;
    std::thread([&] {
      while (!(free = state.lock.try_lock()) && state.async_progress) std::this_thread::yield();
      if (free) state.lock.unlock();
    }).join();
    CHECK(free);
  });
}

#ifdef MPICH
MPI_TEST(an_exception_passes_where_the_communicator_is_wrong) {
  if (!library_survives_exceptions()) return;
  const ReturnedErrorsEverywhere returned;
  const Handler world(MPI_COMM_WORLD, throw_class);
  const Handler self(MPI_COMM_SELF, throw_class);
  const auto wrong = static_cast<MPI_Comm>(0x12345);
  CHECK_EQ(thrown_by([&] { latecomer_set_long_wait(wrong, 1); }),
           "class " + std::to_string(MPI_ERR_COMM));
}

void count_calls(MPI_Comm*, int*, ...) { ++handler_calls; }

/// Open MPI's handles are addresses, and it looks there.
MPI_TEST(a_wrong_communicator_gets_the_librarys_error) {
  const ReturnedErrorsEverywhere returned;
  const Handler world(MPI_COMM_WORLD, count_calls);
  const Handler self(MPI_COMM_SELF, count_calls);
  const auto wrong = static_cast<MPI_Comm>(0x12345);
  int value = 1;
  int result = 0;
  CHECK_EQ(class_of(latecomer_allreduce(&value, &result, 1, MPI_INT, MPI_SUM, wrong)),
           MPI_ERR_COMM);
  CHECK_EQ(handler_calls, 1);
  CHECK_EQ(class_of(latecomer_set_long_wait(wrong, 1)), MPI_ERR_COMM);
}
#endif

}  // namespace
}  // namespace latecomer::testing
