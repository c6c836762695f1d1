#include "runtime/call/execute.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "base/arithmetic.hpp"
#include "runtime/call/datatypes.hpp"
#include "runtime/call/learning.hpp"
#include "runtime/progress/async_progress.hpp"
#include "runtime/report/ledger.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

Ending carry_out_guarded(CommState& state, const Request& request, Seconds entered) try {
  const Ending ending = carry_out(state, request, entered);
  return ending.ends_block && state.broken.empty() ? end_block(state, ending) : ending;
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
  if (state.due.any() && synchronises(state, request)) {
    const std::uint64_t version = state.chooser.version();
    ending = settle(state, ending);
    if (ending.call_class != nullptr && state.chooser.version() != version) {
      ending.call_class = &state.chooser.class_of(request.problem);  // others have its place
    }
  }
  record(state, request, ending, entered);
  if (!ending.decided || ending.call_class == nullptr) return ending;
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
  if (shortcut.call_class != nullptr) {
    if (timed)
      Chooser::note_inside(*shortcut.call_class, {entered, entered + shortcut.last_inside});
    state.chooser.watched(*shortcut.call_class, shortcut.last_inside);
  }
  shortcut.count(state.calls);
  ++(state.stats.*shortcut.counter);
  state.trace.counter = shortcut.counter;
  return code;
}

int execute_untraced(CommState& state, const Call& call) {
  ++state.calls;
  // A progress thread uses the chooser, too, but with the lock.
  const bool may_settle = state.due.any() && !rooted(call.collective);
  Shortcut* const known =
      may_settle || state.async_progress ? nullptr : state.shortcuts.find(call, state.chooser);
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
  if (state.trace.counter == &latecomer_stats::fallback_arguments && is_refusal(code)) {
    traced.withdraw();
  } else {
    traced.end_as_recorded();
  }
  return code;
}

void after_synchronising(CommState& state) {
  if (!state.due.any() || state.ranks == 1 || !state.broken.empty()) return;
  const std::lock_guard hold(state.lock);
  const OwnArithmetic arithmetic;
  (void)settle(state, {});
}

namespace {

/// The mean over the ranks of |expected - actual|; none if no arrivals were expected.
std::optional<Seconds> estimate_error(const std::vector<Seconds>& expected,
                                      const std::vector<Seconds>& actual) {
  if (expected.empty() || expected.size() != actual.size()) return std::nullopt;
  Seconds sum = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) sum += std::abs(expected[i] - actual[i]);
  return sum / static_cast<Seconds>(actual.size());
}

/// The time of a watched call, to be compared with other calls' (runtime/report/statistics.hpp).
Savings::Timed timed_call(const Problem& problem, const Watch& watch) {
  const std::vector<Seconds>& arrivals = watch.last();
  if (arrivals.empty()) return {};
  const auto last = std::max_element(arrivals.begin(), arrivals.end());
  if (!rooted(problem.collective)) {
    return {*last, false, std::max(0.0, watch.after_last_arrival())};
  }
  return {*last, last - arrivals.begin() == problem.root, watch.inside()};
}

std::optional<EndedCall::Telemetry> telemetry_of(const CommState& state, const Problem& problem,
                                                 const Ending& ending) {
  const Watch* const watch = state.chooser.watch();
  if (!ending.arrivals_known || watch == nullptr || !watch->watched()) return std::nullopt;
  const Seconds waited = watch->waited(!rooted(problem.collective));
  return EndedCall::Telemetry{watch->history().period,
                              watch->history().position,
                              waited,
                              std::max(0.0, watch->inside() - waited),
                              timed_call(problem, *watch),
                              estimate_error(state.chooser.expected(), watch->last())};
}

/// True if later calls with the same arguments mean the same. If ranks decide, that must be equal
/// on all of them; handles of objects that a program made may be reused for other objects, and on
/// some ranks only.
bool stays(const CommState& state, const Call& call) {
  if (call.parts_differ()) return false;
  if (state.intercommunicator || state.choice(call.collective).algorithm->kind == Kind::native) {
    return true;
  }
  const auto stays = [](MPI_Datatype type) {
    return type == MPI_DATATYPE_NULL || predefined(type) != nullptr;
  };
  if (!combines(call.collective)) return stays(call.sendtype) && stays(call.recvtype);
  return stays(call.sendtype) && kind_of(call.op) == OperatorKind::built_in;
}

/// True if the MPI library was chosen for all calls like this one, except those that a class looks
/// at.
bool stays_native(const CommState& state, const Request& request, const Ending& ending) {
  if (ending.counter != &latecomer_stats::native) return false;
  return request.by_library != nullptr || !state.chooser.draws(request.problem);
}

/// True if the MPI library executes all calls like this one, except those that a class looks at. A
/// call that goes to it for a reason that not all ranks know may do so on this rank alone, and
/// other ranks may have to be notified.
bool takes_shortcut(const CommState& state, const Request& request, const Ending& ending) {
  const bool alone = state.intercommunicator || state.ranks == 1;
  const bool fixed = alone ? request.by_library != &latecomer_stats::fallback_arguments
                           : stays_native(state, request, ending) ||
                                 ending.counter == &latecomer_stats::fallback_device;
  return fixed && ending.code == MPI_SUCCESS && stays(state, request.call);
}

/// Counts the rank that came last in the call.
void count_last(CommState& state) {
  const std::vector<Seconds>& arrivals = state.chooser.watch()->last();
  if (arrivals.empty()) return;
  const auto last = std::max_element(arrivals.begin(), arrivals.end());
  state.last_to_arrive.resize(arrivals.size());
  ++state.last_to_arrive[static_cast<std::size_t>(last - arrivals.begin())];
}

}  // namespace

void record(CommState& state, const Request& request, const Ending& ending, Seconds entered) {
  ++(state.stats.*ending.counter);
  state.trace.counter = ending.counter;
  EndedCall ended{state.calls, request.problem, request.call.site, ending.counter};
  if (state.async_progress) ended.before_arrival = state.async_progress->take_operations_ahead();
  state.stats.before_arrival += ended.before_arrival;
  ended.inside = monotonic_clock() - entered;
  ended.well = ending.code == MPI_SUCCESS;
  const bool handled = ending.counter == &latecomer_stats::handled;
  if (handled) {
    ended.algorithm = state.choice(request.call.collective).algorithm->name;
    ended.parameters = state.parameters;
  }
  ended.telemetry = telemetry_of(state, request.problem, ending);
  if (ended.telemetry) count_last(state);
  const Statistics::Records records = state.statistics.add(ended);
  if (takes_shortcut(state, request, ending)) {
    state.shortcuts.add(request.call, ending.counter, ending.call_class, state.chooser, records,
                        ended.inside);
  }
}

}  // namespace latecomer
