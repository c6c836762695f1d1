#include "runtime/call/execute.hpp"

#include <mutex>
#include <new>

#include "base/arithmetic.hpp"
#include "runtime/call/due.hpp"
#include "runtime/call/learning.hpp"
#include "runtime/call/record.hpp"
#include "runtime/call/states.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

Ending carry_out_guarded(CommState& state, const Request& request, Seconds entered) try {
  return carry_out(state, request, entered);
} catch (const std::exception& error) {
  if (UserCode::threw()) {
    ++state.stats.failed;
    throw;
  }
  const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return fail(state, memory ? Outcome{MPI_ERR_NO_MEM, "no memory for the call"}
                            : Outcome{MPI_ERR_OTHER, error.what()});
} catch (...) {
  ++state.stats.failed;  // thrown by an operator of the program
  throw;
}

/// Executes and records the call with the lock held: afterwards the progress thread may begin the
/// next call at once.
Ending execute_locked(CommState& state, const Request& request, Seconds entered) {
  const std::lock_guard hold(state.lock);
  const OwnArithmetic arithmetic;
  state.lock.begin_call();
  Ending ending = carry_out_guarded(state, request, entered);
  if (state.due.any() && synchronises(state, request)) ending = settle(state, ending);
  record(state, request, ending, entered);
  if (!ending.decided) return ending;
  const Seconds inside = monotonic_clock() - entered;
  if (!state.chooser.measured(*ending.call_class, ending.library, inside)) return ending;
  return review_decided(state, request.problem, ending);
}

int execute_shortcut(Shortcut& shortcut, CommState& state, const Call& call) {
  state.chooser.skip();
  const bool timed = shortcut.next_is_timed();
  const Seconds entered = timed ? monotonic_clock() : 0;
  const int code = call.native();
  if (timed) shortcut.last_inside = monotonic_clock() - entered;
  if (shortcut.call_class != nullptr) Chooser::watched(*shortcut.call_class, shortcut.last_inside);
  shortcut.count(state.calls);
  ++(state.stats.*shortcut.counter);
  state.trace.counter = shortcut.counter;
  return code;
}

int execute_untraced(CommState& state, const Call& call) {
  ++state.calls;
  Shortcut* const known = state.due.any() && !rooted(call.collective)
                              ? nullptr
                              : state.shortcuts.find(call, state.chooser);
  if (known != nullptr) return execute_shortcut(*known, state, call);
  const Seconds entered = monotonic_clock();
  const Request request = understand(state, call);
  const Ending ending = execute_locked(state, request, entered);
  return ending.raise ? raise_error(state.comm, ending.code) : ending.code;
}

}  // namespace

int execute(CommState& state, const Call& call) {
  if (!trace::is_recording() || state.intercommunicator) return execute_untraced(state, call);
  trace::TracedCall traced(state, call);
  const int code = execute_untraced(state, call);
  traced.end_as_recorded();
  return code;
}

void after_synchronising(CommState& state) {
  if (!state.due.any() || state.ranks == 1 || !state.broken.empty()) return;
  const std::lock_guard hold(state.lock);
  const OwnArithmetic arithmetic;
  (void)settle(state, {});
}

}  // namespace latecomer
