#include "runtime/call/execute.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/last_error.hpp"
#include "runtime/call/call_data.hpp"
#include "runtime/call/datatypes.hpp"
#include "runtime/call/host_buffers.hpp"
#include "runtime/call/operators.hpp"
#include "runtime/call/run.hpp"
#include "runtime/connection/blocking_channel.hpp"
#include "runtime/connection/clocks/clock_sync.hpp"
#include "runtime/connection/connect.hpp"
#include "runtime/connection/node_sharing.hpp"
#include "runtime/connection/predecessors.hpp"
#include "runtime/progress/async_progress.hpp"
#include "runtime/report/ledger.hpp"
#include "runtime/report/log.hpp"
#include "runtime/settings/defaults.hpp"
#include "runtime/settings/settings.hpp"
#include "runtime/trace/tracer.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

/// The end of a call.
struct Ending {
  int code = MPI_SUCCESS;
  CallCounter counter = &latecomer_stats::native;
  bool arrivals_known = false;      // all ranks know its arrivals
  CallClass* call_class = nullptr;  // under automatic choice, if there is one
  bool raise = false;               // the program's error handler must still be called
  bool decided = false;             // all ranks decided about the call
  Seconds library = 0;              // duration of the MPI library's own collective
};

/// The beginning of a call, on the common clock.
struct Entry {
  Seconds arrived = 0;
  Seconds deciding = 0;  // seconds from then until the collective began
};

// --- Failures ---

/// Makes the communicator unusable, and notifies the other ranks, which wait for this one.
void give_up(CommState& state, const std::string& why) {
  if (!state.broken.empty()) return;  // an exception may have become a failure already
  state.broken = why;
  if (!state.resources) return;
  state.resources->failures.announce_failure();
  state.resources->abandon();
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

/// Ends a failed call. The other ranks are notified first.
Ending fail(CommState& state, const Outcome& outcome) {
  give_up(state, outcome.why);
  std::string text = describe(state.comm) + ": " + outcome.why;
  if (state.resources) text += state.resources->hosts.whereabouts(text);
  log_line(text);
  set_last_error(text);
  return {.code = outcome.code, .counter = &latecomer_stats::failed, .raise = true};
}

Ending refuse(CommState& state) {
  set_last_error(describe(state.comm) + " failed earlier: " + state.broken);
  return {.code = disagreement_class(), .counter = &latecomer_stats::failed, .raise = true};
}

// --- Learning ---

/// Learns from a watched call, and refreshes the clocks if that is due: all ranks have just been in
/// the call.
Outcome note_arrivals(CommState& state) {
  Watch* const watch = state.chooser.watch();
  if (watch == nullptr) return {};
  state.chooser.learn();
  if (!state.clock_refresh.due(watch->last_arrival())) return {};
  return refresh_clocks(*state.resources, {state.comm, state.tuning.long_wait});
}

/// Exchanges arrivals between all ranks. All ranks have been in the call, so none waits here for
/// one that still computes.
Outcome exchange_arrivals(CommState& state, const Entry& entry) {
  CommResources& resources = *state.resources;
  if (!state.arrival_exchange) {
    Problem problem;
    problem.ranks = state.ranks;
    state.arrival_exchange = std::make_unique<Prepared>(
        std::make_shared<const Plan>(arrival_exchange_plan(problem)), false, state.rank, 0);
  }
  const Prepared& exchange = *state.arrival_exchange;
  resources.failures.enter_part(FailureDetector::Part::exchange, exchange.context().plan_hash);
  Piggyback& piggyback =
      state.chooser.watch()->begin_exchange(entry.arrived, resources.clocks.now(), entry.deciding);
  Buffers none(Layout(MPI_BYTE), nullptr, nullptr, resources.scratch, 0);
  resources.transport.begin(std::move(none), MPI_SUM,
                            {resources.calls, exchange.context().plan_hash}, &piggyback);
  Protocol& protocol = exchange.protocol(resources.transport, {state.tuning.window, true});
  const Outcome outcome =
      run(protocol, resources, {state.comm, state.tuning.long_wait, 0, &exchange.plan});
  if (outcome.code != MPI_SUCCESS) return outcome;
  resources.end_call();
  state.chooser.watch()->end_exchange();
  return outcome;
}

/// After a call whose messages carried no stamps: exchanges arrivals, if that was decided.
Outcome exchange_afterwards(CommState& state, bool exchange, const Entry& entry) {
  if (state.chooser.watch() == nullptr) return {};
  if (!exchange) {
    state.chooser.miss();
    return {};
  }
  const Outcome exchanged = exchange_arrivals(state, entry);
  return exchanged.code == MPI_SUCCESS ? note_arrivals(state) : exchanged;
}

int min_over_ranks(CommState& state, Review& review) {
  const ReleasedCommLock released(state.lock);
  const UserCode called;
  const auto count = static_cast<int>(review.values().size());
  return PMPI_Allreduce(MPI_IN_PLACE, review.values().data(), count, MPI_DOUBLE, MPI_MIN,
                        state.comm);
}

/// Reviews the last calls of a class that is only watched: all ranks have just been in one, with
/// the given ending. Before the first review a predecessor's knowledge may be taken over instead.
Ending review_watched(CommState& state, const Problem& problem, Ending ending) {
  Inheritance inheritance(state, Inheritance::Of::everything);
  Review all = Chooser::review(*ending.call_class, may_connect(state));
  all.offer(inheritance.state_hash());
  const int code = min_over_ranks(state, all);
  if (ending.code == MPI_SUCCESS) ending.code = code;
  if (code != MPI_SUCCESS) return ending;
  if (all.agreed()) {
    inheritance.accept();
    ending.call_class = &state.chooser.class_of(problem);
    return ending;
  }
  if (!state.chooser.reviewed(*ending.call_class, problem, all)) return ending;
  const Outcome connected = connect_for_choice(state);
  return connected.code == MPI_SUCCESS ? ending : fail(state, connected);
}

/// Reviews the calls of a class now, or, if ranks may leave such a call before others enter it,
/// after the next one in which all wait.
Ending review_in_time(CommState& state, const Problem& problem, Ending ending) {
  if (!defaults().waits_for_synchronising_calls || !rooted(problem.collective)) {
    return review_watched(state, problem, ending);
  }
  state.due.review = problem;
  Chooser::defer(*ending.call_class);
  return ending;
}

/// Reviews the last calls of an active class. A rank that failed is not waited for.
Ending review_decided(CommState& state, const Problem& problem, Ending ending) {
  CommResources& resources = *state.resources;
  resources.failures.enter_part(FailureDetector::Part::review, 0);
  BlockingChannel channel(resources, {state.comm, state.tuning.long_wait}, Tags::kReview,
                          "to review the last calls");
  const Review all =
      tree_allreduce(channel, state.ranks, state.rank, Chooser::review(*ending.call_class, true),
                     [](Review& mine, const Review& theirs) { mine.merge(theirs); });
  if (channel.failed()) return fail(state, channel.outcome());
  state.chooser.reviewed(*ending.call_class, problem, all);
  return ending;
}

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
  return call.native();
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
                         resources.calls, piggyback);
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
  const Layout layout(combines(request.call.collective) ? request.call.sendtype : MPI_BYTE);
  if (fits_node(layout)) {
    if (!lacks_memory(state, *decision.plan)) return {};
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
    std::optional<Decision> again;
    if (call_class != nullptr) again = state.chooser.repeat(*call_class, request.problem);
    if (!again) {
      (void)state.chooser.expect(request.problem);
      again = state.chooser.decide(request.problem);
    }
    decision = *std::move(again);
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
bool waits_for_link(CommState& state, const Problem& problem) {
  return defaults().waits_for_synchronising_calls && rooted(problem.collective) &&
         state.resources == nullptr;
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
  CallClass* call_class = nullptr;
  if (state.chooser.chooses(problem)) {
    const bool worth = Chooser::worth_a_class(problem);
    call_class = worth ? &state.chooser.class_of(problem) : nullptr;
    if (!worth || Chooser::left_alone(*call_class)) {
      return execute_by_library(state, request, &latecomer_stats::native, call_class, entered);
    }
  }
  state.device_call = note_device_memory(state, request.call);
  if (waits_for_link(state, problem)) {
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

// --- Records ---

/// The mean over the ranks of |expected - actual|; none if no arrivals were expected.
std::optional<Seconds> estimate_error(const std::vector<Seconds>& expected,
                                      const std::vector<Seconds>& actual) {
  if (expected.empty() || expected.size() != actual.size()) return std::nullopt;
  Seconds sum = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) sum += std::abs(expected[i] - actual[i]);
  return sum / static_cast<Seconds>(actual.size());
}

/// The time of a watched call, to be compared with other calls' (runtime/report/savings.hpp).
Savings::Timed timed_call(const Problem& problem, const Watch& watch) {
  const std::vector<Seconds>& arrivals = watch.last();
  if (arrivals.empty()) return {};
  const auto last = std::max_element(arrivals.begin(), arrivals.end());
  if (!rooted(problem.collective)) return {*last, false, std::max(0.0, watch.moved())};
  return {*last, last - arrivals.begin() == problem.root, watch.waited() + watch.moved()};
}

std::optional<EndedCall::Telemetry> telemetry_of(const CommState& state, const Problem& problem,
                                                 const Ending& ending) {
  const Watch* const watch = state.chooser.watch();
  if (!ending.arrivals_known || watch == nullptr || !watch->watched()) return std::nullopt;
  return EndedCall::Telemetry{
      watch->history().period,        watch->history().position,
      std::max(0.0, watch->waited()), std::max(0.0, watch->moved()),
      timed_call(problem, *watch),    estimate_error(state.chooser.expected(), watch->last())};
}

/// True if later calls with the same arguments mean the same. If ranks decide, that must be equal
/// on all of them; handles of objects that a program made may be reused for other objects, and on
/// some ranks only.
bool lasting(const CommState& state, const Call& call) {
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

/// True if the MPI library executes all calls like this one, except those that a class looks at. A
/// call that goes to it for a reason that not all ranks know may do so on this rank alone, and
/// other ranks may have to be notified.
bool takes_shortcut(const CommState& state, const Request& request, const Ending& ending) {
  const bool alone = state.intercommunicator || state.ranks == 1;
  const bool fixed = alone ? request.by_library != &latecomer_stats::fallback_arguments
                           : ending.counter == &latecomer_stats::native ||
                                 ending.counter == &latecomer_stats::fallback_device;
  return fixed && ending.code == MPI_SUCCESS && lasting(state, request.call);
}

/// Counts the rank that came last in the call.
void count_last(CommState& state) {
  const std::vector<Seconds>& arrivals = state.chooser.watch()->last();
  if (arrivals.empty()) return;
  const auto last = std::max_element(arrivals.begin(), arrivals.end());
  state.last_to_arrive.resize(arrivals.size());
  ++state.last_to_arrive[static_cast<std::size_t>(last - arrivals.begin())];
}

/// Adds the call to the statistics, and notes whether calls like it can take the shortcut.
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

/// Executes and records the call with the lock held: afterwards the progress thread may begin the
/// next call at once.
Ending execute_locked(CommState& state, const Request& request, Seconds entered) {
  const std::lock_guard hold(state.lock);
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
  if (!trace::is_on() || state.intercommunicator) return execute_untraced(state, call);
  trace::TracedCall traced(state, call);
  const int code = execute_untraced(state, call);
  traced.end_as_recorded();
  return code;
}

void after_synchronising(CommState& state) {
  if (!state.due.any() || state.ranks == 1 || !state.broken.empty()) return;
  const std::lock_guard hold(state.lock);
  (void)settle(state, {});
}

}  // namespace latecomer
