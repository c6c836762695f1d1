// How a communicator carries out a call: one function for each state that it may be in. What
// decides about the state changes only at moments that all ranks know, so that all are in the same
// one.

#include <algorithm>
#include <utility>

#include "base/arithmetic.hpp"
#include "base/error.hpp"
#include "runtime/call/call_data.hpp"
#include "runtime/call/datatypes.hpp"
#include "runtime/call/execute.hpp"
#include "runtime/call/host_buffers.hpp"
#include "runtime/call/learning.hpp"
#include "runtime/call/run.hpp"
#include "runtime/connection/connect.hpp"
#include "runtime/connection/node_sharing.hpp"
#include "runtime/progress/async_progress.hpp"
#include "runtime/settings/defaults.hpp"

namespace latecomer {
namespace {

/// Executes the MPI library's collective; if MPI refuses the call it calls the program's error
/// handler. Returns MPI's code.
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

bool is_refused(const Ending& ending) {
  return ending.counter == &latecomer_stats::fallback_arguments && is_refusal(ending.code);
}

/// Executes a native call without any decision. `counter`: the reason. `call_class`: its class, if
/// its duration is watched. A refused call is none: other ranks made no such call, and learn from
/// the calls around it.
Ending execute_by_library(CommState& state, const Request& request, CallCounter counter,
                          CallClass* call_class = nullptr, Seconds entered = 0) {
  const bool may_be_refused = counter == &latecomer_stats::fallback_arguments;
  if (!may_be_refused) state.chooser.skip();
  const Ending ending{execute_natively(state, request.call), counter, false, call_class};
  if (may_be_refused && !is_refused(ending)) state.chooser.skip();
  if (call_class == nullptr) return ending;
  const Seconds now = monotonic_clock();
  Chooser::note_inside(*call_class, {entered, now});
  if (!state.chooser.watched(*call_class, now - entered)) return ending;
  note_device_memory(state, request.call);
  return review_in_time(state, request.problem, ending);
}

/// A guard for the memory of a call that fails: its messages end first. The program's operators may
/// leave the call by an exception.
class CallGuard {
 public:
  CallGuard(CommState& state, CallData& data, HostBuffers& buffers)
      : state_(state), data_(data), buffers_(buffers) {}
  ~CallGuard() {
    if (!ended_) fail("an exception ended a call in which others wait");
  }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
  void end(const Outcome& outcome) {
    ended_ = true;
    if (outcome.code != MPI_SUCCESS) fail(outcome.why);
  }

 private:
  void fail(const std::string& why) {
    if (give_up(state_, why)) return;
    data_.abandon();
    buffers_.abandon();
  }

  CommState& state_;
  CallData& data_;
  HostBuffers& buffers_;
  bool ended_ = false;
};

/// The time from this rank's arrival to the last one, as forecast; 0: nothing is.
Seconds expected_wait(const std::vector<Seconds>& arrivals, Rank me) {
  if (arrivals.empty()) return 0;
  return *std::ranges::max_element(arrivals) - arrivals[static_cast<std::size_t>(me)];
}

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
  CallGuard guard(state, data, buffers_here);
  Outcome outcome = run(*protocol, resources,
                        {state.comm, state.tuning.long_wait, 0, &prepared.plan,
                         expected_wait(state.chooser.expected(), state.rank)},
                        begun != nullptr ? Begun::before : Begun::now);
  guard.end(outcome);
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

/// Decides about the call and executes it. The ranks are linked, and their settings are alike.
/// `arrived`: on the common clock.
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
    note_decided(state, state.resources->calls);
    decision = state.chooser.decide(request.problem, call_class);
    const Outcome ready = prepare_decided(state, request, decision, prepared);
    if (ready.code != MPI_SUCCESS) return fail(state, ready);
  }
  // A wait for rank 0's plan is part of an announced call.
  const Entry entry{arrived, announced ? 0 : state.resources->clocks.now() - arrived};
  Ending ending;
  switch (decision.action) {
    case Decision::Action::library:
      ending = execute_library(state, call, decision.exchange_arrivals, entry);
      break;
    case Decision::Action::refused:
      return execute_refused(state, call, decision.why);
    case Decision::Action::plan:
      const std::string& parameters = parameters_of(state, *prepared);
      if (state.parameters != parameters) state.parameters = parameters;
      ending =
          execute_plan_and_learn(state, call, *prepared, begun, decision.exchange_arrivals, entry);
      break;
  }
  ending.ends_block = decision.ends_block;
  return ending;
}

/// Plain: the MPI library was chosen, or has the call because of its arguments, which may be wrong
/// or which MPI allows to differ. Then ranks that decide are notified. A call that MPI refuses has
/// no place among the calls.
Ending plain(CommState& state, const Request& request, Seconds entered) {
  const bool chosen = request.by_library == &latecomer_stats::native;  // on all ranks
  const bool noted = state.resources && !chosen && state.broken.empty();
  if (noted) {
    const auto wrong = state.resources->failures.leave_to_library(state.calls);
    if (wrong && !refused(request.call, state.ranks, state.rank, own_comm(state)))
      return fail(state, {disagreement_class(), *wrong});
  }
  const Ending ending = execute_by_library(state, request, request.by_library, nullptr, entered);
  if (is_refused(ending)) {
    if (noted) state.resources->failures.come_back();
    --state.calls;
  }
  return ending;
}

/// Left: why all ranks leave the communicator's calls to the MPI library; null if they do not.
CallCounter left_by_all(const CommState& state) {
  if (state.settings == Settings::different) return &latecomer_stats::fallback_settings;
  const bool device = state.resources != nullptr && state.resources->device_memory;
  return device ? &latecomer_stats::fallback_device : nullptr;
}

/// Not linked: ranks that may not be in the call at the same time are linked after a later one.
bool waits_for_link(const CommState& state) {
  return defaults().waits_for_synchronising_calls && state.resources == nullptr;
}

Ending linked_later(CommState& state, const Request& request) {
  state.due.link = !state.resources_failed;
  return execute_by_library(state, request, &latecomer_stats::fallback_link);
}

/// Linked: all ranks decide about the call. In the first one they are linked.
Ending linked(CommState& state, const Request& request, CallClass* call_class, Seconds entered) {
  if (const Outcome connected = connect_and_watch(state); connected.code != MPI_SUCCESS) {
    if (!state.resources_failed) return fail(state, connected);
    set_last_error(connected.why);
    return execute_by_library(state, request, &latecomer_stats::fallback_plan);
  }
  // A rank that never waits would otherwise not learn of failures.
  if (const auto wrong = state.resources->failures.check()) {
    return fail(state, {disagreement_class(), *wrong});
  }
  if (const CallCounter reason = left_by_all(state)) {
    return execute_by_library(state, request, reason);
  }
  const Seconds inside = monotonic_clock() - entered;
  const bool announced = state.async_progress && state.async_progress->announces(request);
  Ending ending =
      decide_and_execute(state, request, call_class, state.resources->clocks.now() - inside);
  if (call_class != nullptr) Chooser::note_inside(*call_class, {entered, monotonic_clock()});
  ending.call_class = call_class;
  ending.announced = announced;
  ending.decided =
      call_class != nullptr && !announced && ending.code == MPI_SUCCESS && !state.chooser.ruled();
  return ending;
}

}  // namespace

Ending carry_out(CommState& state, const Request& request, Seconds entered) {
  if (request.by_library != nullptr) return plain(state, request, entered);
  if (!state.broken.empty()) return refuse(state);
  if (const CallCounter reason = left_by_all(state)) {
    return execute_by_library(state, request, reason);
  }
  const auto [call_class, watched] = state.chooser.glance(request.problem);
  if (watched)
    return execute_by_library(state, request, &latecomer_stats::native, call_class, entered);
  note_device_memory(state, request.call);
  if (waits_for_link(state)) return linked_later(state, request);
  return linked(state, request, call_class, entered);
}

}  // namespace latecomer
