#include "runtime/call/execute.hpp"

#include <bit>
#include <mutex>
#include <new>
#include <utility>

#include "base/arithmetic.hpp"
#include "base/error.hpp"
#include "base/last_error.hpp"
#include "runtime/call/call_data.hpp"
#include "runtime/call/datatypes.hpp"
#include "runtime/call/ending.hpp"
#include "runtime/call/host_buffers.hpp"
#include "runtime/call/learning.hpp"
#include "runtime/call/operators.hpp"
#include "runtime/call/record.hpp"
#include "runtime/call/run.hpp"
#include "runtime/connection/blocking_channel.hpp"
#include "runtime/connection/connect.hpp"
#include "runtime/connection/node_sharing.hpp"
#include "runtime/progress/async_progress.hpp"
#include "runtime/settings/defaults.hpp"
#include "runtime/settings/settings.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

// --- Memory of devices ---

/// Notes whether this rank passes memory of a device in the call. Returns true if it does.
bool note_device_memory(CommState& state, const Call& call) {
  const bool passed = passes_device_memory(call, state.ranks, state.rank);
  state.passed_device_memory = state.passed_device_memory || passed;
  return passed;
}

/// The handled calls after which ranks tell each other whether they pass memory of a device, which
/// they may begin to do at any time. Until all know, each copies its own.
bool tells_of_devices(std::uint64_t calls) {
  constexpr std::uint64_t kEvery = 256;
  return calls < kEvery ? std::has_single_bit(calls) : calls % kEvery == 0;
}

Outcome tell_of_devices(CommState& state) {
  CommResources& resources = *state.resources;
  BlockingChannel channel(resources, {state.comm, state.tuning.long_wait}, Tags::kReview,
                          "to compare the kinds of buffers");
  const auto any = tree_allreduce(channel, state.ranks, state.rank,
                                  std::uint64_t{state.passed_device_memory ? 1U : 0U},
                                  [](std::uint64_t& all, std::uint64_t theirs) { all |= theirs; });
  if (!channel.failed()) resources.device_memory = any != 0;
  return channel.outcome();
}

/// The reason for which all ranks leave the communicator's calls to the MPI library; null if there
/// is none.
CallCounter left_by_all(const CommState& state) {
  if (state.settings == Settings::different) return &latecomer_stats::fallback_settings;
  const bool device = state.resources != nullptr && state.resources->device_memory;
  return device ? &latecomer_stats::fallback_device : nullptr;
}

// --- The ways of a call ---

/// Executes the MPI library's collective; if MPI refuses the call it calls the program's error
/// handler.
int execute_natively(CommState& state, const Call& call) {
  const ReleasedCommLock released(state.lock);
  const Seconds entered = monotonic_clock();
  const int code = [&] {
    const OwnArithmetic::Programs arithmetic;
    return call.native();
  }();
  state.inside = monotonic_clock() - entered;
  return code;
}

/// Leaves a call to the library because of its arguments, which may be wrong or which MPI allows to
/// differ. Returns the reason if the call must fail then.
std::optional<std::string> leave(CommState& state, const Request& request) {
  const bool chosen = request.by_library == &latecomer_stats::native;  // on all ranks
  if (!state.resources || chosen || !state.broken.empty()) return std::nullopt;
  return state.resources->failures.leave_to_library(state.calls);
}

/// Executes a native call without any decision. `call_class`: its class, if its duration is
/// watched.
Ending execute_by_library(CommState& state, const Request& request, CallCounter counter,
                          CallClass* call_class, Seconds entered) {
  state.chooser.skip();
  const Ending ending{execute_natively(state, request.call), counter, false, call_class};
  if (call_class == nullptr || !Chooser::watched(*call_class, monotonic_clock() - entered))
    return ending;
  (void)note_device_memory(state, request.call);
  return review_in_time(state, request.problem, ending);
}

/// A guard for calls of the program's operators: one may leave the call by an exception.
class CallGuard {
 public:
  explicit CallGuard(CommState& state) : state_(state) {}
  ~CallGuard() {
    if (!ended_) give_up(state_, "an exception ended a call in which others wait");
  }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
  void end() { ended_ = true; }

 private:
  CommState& state_;
  bool ended_ = false;
};

/// Executes a plan. `begun`: the protocol, if it was started ahead of this rank's arrival.
Outcome execute_plan(CommState& state, const Call& call, const Prepared& prepared, Protocol* begun,
                     const Entry& entry) {
  CommResources& resources = *state.resources;
  Watch* const watch = state.chooser.piggybacks(prepared.plan) ? state.chooser.watch() : nullptr;
  resources.failures.enter_part(FailureDetector::Part::plan, prepared.context().plan_hash);
  HostBuffers buffers_here(call, state.ranks, state.rank, state.device_call);
  if (buffers_here.code() != MPI_SUCCESS)
    return {buffers_here.code(), "MPI could not copy the memory of a device"};
  CallData data(buffers_here.call(), prepared.plan.problem, state.rank);
  if (data.code() != MPI_SUCCESS) return {data.code(), "MPI could not pack the data"};
  Protocol* protocol = begun;
  if (begun != nullptr) {
    if (watch != nullptr) watch->arrive(entry.arrived);
    resources.transport.bind(data.input(), data.output());
  } else {
    Piggyback* const piggyback = watch != nullptr ? &watch->enter(entry.arrived) : nullptr;
    Buffers buffers(data.layout(), data.input(), data.output(), resources.scratch,
                    prepared.context().scratch_count);
    resources.begin_call(prepared.plan, prepared.context(), std::move(buffers), call.op,
                         resources.calls, state.chooser.sends_in_pieces(), piggyback);
    const ProtocolOptions options{state.tuning.window, kind_of(call.op) == OperatorKind::built_in};
    protocol = &prepared.protocol(resources.transport, options);
  }
  CallGuard guard(state);
  const Outcome outcome =
      run(*protocol, resources, {state.comm, state.tuning.long_wait, 0, &prepared.plan},
          begun != nullptr ? Begun::before : Begun::now);
  guard.end();
  if (outcome.code != MPI_SUCCESS) return outcome;
  resources.end_call();
  if (watch != nullptr) watch->leave(resources.clocks.now(), entry.deciding);
  int code = data.finish();
  if (code != MPI_SUCCESS) return {code, "MPI could not unpack the data"};
  code = buffers_here.finish();
  return {code, code == MPI_SUCCESS ? "" : "MPI could not copy to the memory of a device"};
}

Ending execute_plan_and_learn(CommState& state, const Call& call, const Prepared& prepared,
                              Protocol* begun, bool exchange, const Entry& entry) {
  Outcome outcome = execute_plan(state, call, prepared, begun, entry);
  if (begun != nullptr) state.async_progress->end_call();
  if (outcome.code == MPI_SUCCESS) {
    outcome = state.chooser.piggybacks(prepared.plan) ? note_arrivals(state)
                                                      : exchange_afterwards(state, exchange, entry);
  }
  if (outcome.code != MPI_SUCCESS) return fail(state, outcome);
  return {MPI_SUCCESS, &latecomer_stats::handled,
          state.chooser.piggybacks(prepared.plan) || exchange};
}

Ending execute_library(CommState& state, const Call& call, bool exchange, const Entry& entry) {
  state.parameters = "as=native";
  Ending ending{MPI_SUCCESS, &latecomer_stats::native};
  const Seconds entered = monotonic_clock();
  ending.code = execute_natively(state, call);
  ending.library = monotonic_clock() - entered;
  if (ending.code != MPI_SUCCESS) return ending;
  const Outcome exchanged = exchange_afterwards(state, exchange, entry);
  if (exchanged.code != MPI_SUCCESS) return fail(state, exchanged);
  ending.arrivals_known = exchange;
  return ending;
}

/// Executes a native call because no rank has an algorithm that takes the problem.
Ending execute_refused(CommState& state, const Call& call, const std::string& why) {
  set_last_error(why);
  state.chooser.miss();
  return {execute_natively(state, call), &latecomer_stats::fallback_plan};
}

/// The plan's parameters as a text, relative to the choice that was set.
const std::string& parameters_of(const CommState& state, Prepared& prepared) {
  const Algorithm& row = *state.choice(prepared.plan.problem.collective).algorithm;
  if (prepared.asked != row.name) {
    prepared.asked = row.name;
    prepared.parameters = describe_parameters(prepared.plan, row.name);
  }
  return prepared.parameters;
}

/// Prepares the plan that was decided, and the memory of nodes if it uses that; if the ranks cannot
/// have it, they plan the call again without.
Outcome prepare_decided(CommState& state, const Request& request, Decision& decision,
                        Prepared*& prepared) {
  if (decision.action != Decision::Action::plan) return {};
  const bool in_place = request.call.in_place();
  prepared = &prepare(state, decision.plan, in_place);
  if (decision.plan->placement.empty()) return {};
  const Layout layout(request.call.element());
  if (fits_node(layout)) {
    if (!lacks_memory(state, *prepared, layout)) return {};
    const Outcome shared = share_memory(state, *prepared, layout);
    if (shared.code != MPI_SUCCESS || state.resources->shares_memory) return shared;
  }
  decision = state.chooser.without_nodes(decision, request.problem);
  if (decision.plan) prepared = &prepare(state, decision.plan, in_place);
  return {};
}

/// Decides about the call and executes it.
Ending decide_and_execute(CommState& state, const Request& request, CallClass* call_class,
                          Seconds arrived) {
  const Call& call = request.call;
  Decision decision;
  Prepared* prepared = nullptr;
  Protocol* begun = nullptr;
  const bool announced = state.async_progress && state.async_progress->announces(request);
  if (announced) {
    const Outcome joined = state.async_progress->enter_call(request, decision, prepared);
    if (joined.code != MPI_SUCCESS) return fail(state, joined);
    begun = state.async_progress->begun();
  } else {
    if (state.async_progress) {
      const Outcome obstacle = state.async_progress->obstacle();
      if (obstacle.code != MPI_SUCCESS) return fail(state, obstacle);
    }
    ++state.resources->calls;
    if (!state.async_progress && tells_of_devices(state.resources->calls)) state.due.device = true;
    decision = state.chooser.decide(request.problem, call_class);
    const Outcome ready = prepare_decided(state, request, decision, prepared);
    if (ready.code != MPI_SUCCESS) return fail(state, ready);
  }
  // A wait for rank 0's plan is part of an announced call.
  const Entry entry{arrived, announced ? 0 : state.resources->clocks.now() - arrived};
  switch (decision.action) {
    case Decision::Action::library:
      return execute_library(state, call, decision.exchange_arrivals, entry);
    case Decision::Action::refused:
      return execute_refused(state, call, decision.why);
    case Decision::Action::plan:
      break;
  }
  const std::string& parameters = parameters_of(state, *prepared);
  if (state.parameters != parameters) state.parameters = parameters;
  return execute_plan_and_learn(state, call, *prepared, begun, decision.exchange_arrivals, entry);
}

/// Links the ranks in a call, and watches arrivals if they are to be forecast.
Outcome connect_and_watch(CommState& state) {
  const Outcome connected = connect(state);
  const bool watches = state.chooser.policy().online && state.chooser.watch() == nullptr;
  if (connected.code != MPI_SUCCESS || !watches) return connected;
  return state.settings == Settings::alike ? watch_arrivals(state) : connected;
}

/// True if the ranks are not linked, and may not be in this call.
bool waits_for_link(const CommState& state) {
  return defaults().waits_for_synchronising_calls && state.resources == nullptr;
}

/// Does what is due. All ranks have just been in a call in which they waited for each other.
Ending settle(CommState& state, Ending ending) {
  const Due due = std::exchange(state.due, {});
  if (due.review) {
    Ending reviewed = ending;
    reviewed.call_class = &state.chooser.class_of(*due.review);
    if (!reviewed.call_class->active) {
      reviewed = review_watched(state, *due.review, reviewed);
      if (reviewed.raise) return reviewed;
    }
  }
  if (due.device) {
    const Outcome told = tell_of_devices(state);
    if (told.code != MPI_SUCCESS) return fail(state, told);
  }
  if (!due.link || state.resources) return ending;
  const Outcome connected = connect_and_watch(state);
  if (connected.code == MPI_SUCCESS || state.resources_failed) return ending;
  return fail(state, connected);
}

/// True if all ranks wait for each other in the call, and know it.
bool synchronises(const CommState& state, const Request& request) {
  if (request.by_library != nullptr && request.by_library != &latecomer_stats::native) return false;
  return !rooted(request.problem.collective) && request.problem.bytes() > 0 && state.ranks > 1 &&
         !state.intercommunicator && state.broken.empty();
}

Ending dispatch(CommState& state, const Request& request, Seconds entered) try {
  if (request.by_library != nullptr) {
    if (const auto wrong = leave(state, request))
      return fail(state, {disagreement_class(), *wrong});
    return execute_by_library(state, request, request.by_library, nullptr, entered);
  }
  if (!state.broken.empty()) return refuse(state);
  if (const CallCounter reason = left_by_all(state)) {
    return execute_by_library(state, request, reason, nullptr, 0);
  }
  const Problem& problem = request.problem;
  const auto [call_class, left] = state.chooser.glance(problem);
  if (left)
    return execute_by_library(state, request, &latecomer_stats::native, call_class, entered);
  state.device_call = note_device_memory(state, request.call);
  if (waits_for_link(state)) {
    state.due.link = !state.resources_failed;
    return execute_by_library(state, request, &latecomer_stats::fallback_link, nullptr, 0);
  }
  if (const Outcome connected = connect_and_watch(state); connected.code != MPI_SUCCESS) {
    if (!state.resources_failed) return fail(state, connected);
    set_last_error(connected.why);
    return execute_by_library(state, request, &latecomer_stats::fallback_plan, nullptr, 0);
  }
  // A rank that never waits would otherwise not learn of failures.
  if (const auto wrong = state.resources->failures.check()) {
    return fail(state, {disagreement_class(), *wrong});
  }
  if (const CallCounter reason = left_by_all(state)) {
    return execute_by_library(state, request, reason, nullptr, 0);
  }
  const Seconds inside = monotonic_clock() - entered;
  const bool announced = state.async_progress && state.async_progress->announces(request);
  Ending ending =
      decide_and_execute(state, request, call_class, state.resources->clocks.now() - inside);
  ending.call_class = call_class;
  ending.decided =
      call_class != nullptr && !announced && ending.code == MPI_SUCCESS && !state.chooser.ruled();
  return ending;
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
  Ending ending = dispatch(state, request, entered);
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
