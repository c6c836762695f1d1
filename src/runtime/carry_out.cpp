#include "runtime/carry_out.hpp"

#include <mutex>
#include <new>

#include "base/error.hpp"
#include "capi/core/last_error.hpp"
#include "runtime/background/background.hpp"
#include "runtime/call_data.hpp"
#include "runtime/clocks/clock_sync.hpp"
#include "runtime/decision.hpp"
#include "runtime/log.hpp"
#include "runtime/operators.hpp"
#include "runtime/persistent.hpp"
#include "runtime/run.hpp"
#include "runtime/settings.hpp"
#include "runtime/statistics/recorded_call.hpp"
#include "transports/mpi/user_code.hpp"

namespace latecomer {
namespace {

/// The plan is the same on every rank, and so is its refusal.
const Prepared* prepare(CommState& state, const Problem& problem, Decision& decision) try {
  decision = decide(state, problem, expect_arrivals(state, problem), state.selector);
  if (decision.choice.algorithm->kind == Kind::native) return nullptr;
  return &state.plans.get(decision.choice, problem, decision.knowledge, state.rank);
} catch (const Error& error) {
  set_last_error(error.what());
  decision.choice.algorithm = nullptr;
  return nullptr;
}

/// This rank will do no more in its call, for which the others wait: they are told.
void give_up(CommState& state, const std::string& why) {
  if (!state.broken.empty()) return;  // an exception may become a failure on its way
  ++state.stats.failed;
  state.broken = why;
  if (!state.link) return;
  state.link->control.alarm();
  state.link->transport.abandon();
}

/// An operator of the program's may leave a call by an exception.
class Within {
 public:
  explicit Within(CommState& state) : state_(state) {}
  ~Within() {
    if (!ended_) give_up(state_, "an exception ended a call in which others wait");
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  void end() { ended_ = true; }

 private:
  CommState& state_;
  bool ended_ = false;
};

/// Takes part in a call on the link. `buffers` are the call's, `op` its operator.
Outcome execute(CommState& state, const Prepared& prepared, Buffers buffers, MPI_Op op,
                Courier* courier) {
  Link& link = *state.link;
  link.transport.begin(std::move(buffers), op, {link.calls, prepared.frame().plan_hash}, courier);
  const ProtocolOptions options{state.tuning.window, kind_of(op) == OperatorKind::built_in};
  Within call(state);
  const auto protocol = prepared.party->join(link.transport, options);
  Outcome outcome = run(*protocol, link, {state.comm, state.tuning.long_wait, 0, &prepared.plan});
  call.end();
  return outcome;
}

Outcome execute_alone(CommState& state, const Call& call, const Prepared& prepared,
                      Seconds arrived) {
  Link& link = *state.link;
  link.control.enter(link.calls, prepared.frame().plan_hash);
  CallData data(call, prepared.plan.problem, state.rank);
  if (data.code() != MPI_SUCCESS) return {data.code(), "MPI could not pack the data"};
  Courier* const courier = tells(state, prepared.plan) ? &state.watch->enter(arrived) : nullptr;
  Buffers buffers(data.layout(), data.input(), data.output(), link.scratch,
                  prepared.frame().scratch_count);
  const Outcome outcome = execute(state, prepared, std::move(buffers), call.op, courier);
  if (outcome.code != MPI_SUCCESS) return outcome;
  if (courier != nullptr) state.watch->leave(link.clocks.now());
  const int code = data.finish();
  return {code, code == MPI_SUCCESS ? "" : "MPI could not unpack the data"};
}

/// All ranks have been in the call: nobody who tells the others waits for one who still computes.
Outcome tell_all(CommState& state, const Problem& problem, Seconds arrived) {
  Link& link = *state.link;
  const Prepared& telling = state.plans.telling(problem, state.rank);
  link.control.enter(link.calls, telling.frame().plan_hash);
  Courier& courier = state.watch->tell_of(arrived, link.clocks.now());
  Buffers none(Layout(MPI_BYTE), nullptr, nullptr, link.scratch, 0);
  const Outcome outcome = execute(state, telling, std::move(none), MPI_SUM, &courier);
  if (outcome.code == MPI_SUCCESS) state.watch->told();
  return outcome;
}

/// The others are told before anything else.
int fail(CommState& state, const Outcome& outcome) {
  give_up(state, outcome.why);
  const std::string text = describe(state.comm) + ": " + outcome.why;
  log_line(text);
  set_last_error(text);
  return raise_error(state.comm, outcome.code);
}

int refuse(CommState& state) {
  ++state.stats.failed;
  set_last_error(describe(state.comm) + " failed earlier: " + state.broken);
  return raise_error(state.comm, disagreement_class());
}

/// All ranks have just been here: the time to compare clocks, if it is due.
Outcome note_arrivals(CommState& state) {
  if (!state.watch) return {};
  learn(state);
  if (!state.clock_refresh.due(state.watch->last_arrival())) return {};
  return refresh_clocks(*state.link, {state.comm, state.tuning.long_wait});
}

/// After a call whose own messages told nothing: all ranks tell each other now, if that is worth
/// it.
Outcome tell_afterwards(CommState& state, const Problem& problem, bool tell, Seconds arrived) {
  if (!state.watch) return {};
  if (!tell) {
    state.watch->miss();
    return {};
  }
  const Outcome told = tell_all(state, problem, arrived);
  return told.code == MPI_SUCCESS ? note_arrivals(state) : told;
}

int handle_natively(CommState& state, const Call& call, const Problem& problem, bool tell,
                    Seconds arrived) {
  ++state.stats.native;
  state.parameters = "as=native";
  const int code = call.native();
  if (code != MPI_SUCCESS) return code;
  const Outcome told = tell_afterwards(state, problem, tell, arrived);
  return told.code == MPI_SUCCESS ? MPI_SUCCESS : fail(state, told);
}

/// `tell`: all ranks of the arrivals, where the call's own messages do not.
int end_handled(CommState& state, Outcome outcome, const Prepared& prepared, bool tell,
                Seconds arrived) {
  if (outcome.code == MPI_SUCCESS) {
    outcome = tells(state, prepared.plan)
                  ? note_arrivals(state)
                  : tell_afterwards(state, prepared.plan.problem, tell, arrived);
  }
  if (outcome.code != MPI_SUCCESS) return fail(state, outcome);
  ++state.stats.handled;
  const bool automatic = state.automatic(prepared.plan.problem.collective);
  state.parameters = automatic ? describe_parameters(prepared.plan, "auto") : prepared.parameters;
  return MPI_SUCCESS;
}

/// No candidate takes the problem, on no rank.
int handle_refused(CommState& state, const Call& call) {
  ++state.stats.fallback_plan;
  if (state.watch) state.watch->miss();
  return call.native();
}

/// Rank 0 announces the plan; progress threads may have begun it.
int handle_announced(CommState& state, const Call& call, Seconds arrived) {
  Background& background = *state.background;
  const Outcome joined = background.join(call, arrived);
  if (joined.code != MPI_SUCCESS) return fail(state, joined);
  if (background.prepared() != nullptr) {
    const Prepared& prepared = *background.prepared();
    return end_handled(state, background.carry_out(call), prepared, background.tells(), arrived);
  }
  if (background.why_native().empty()) {
    const Problem problem = problem_of(call, state.ranks, state.rank);
    return handle_natively(state, call, problem, background.tells(), arrived);
  }
  set_last_error(background.why_native());
  return handle_refused(state, call);
}

/// Every rank plans the call.
int handle_alone(CommState& state, const Call& call, Seconds arrived) {
  if (state.background) {
    if (const Outcome obstacle = state.background->obstacle(); obstacle.code != MPI_SUCCESS) {
      return fail(state, obstacle);
    }
  }
  ++state.link->calls;
  const Problem problem = problem_of(call, state.ranks, state.rank);
  Decision decision;
  const Prepared* const prepared = prepare(state, problem, decision);
  if (decision.choice.algorithm == nullptr) return handle_refused(state, call);
  if (prepared == nullptr) return handle_natively(state, call, problem, decision.tell, arrived);
  return end_handled(state, execute_alone(state, call, *prepared, arrived), *prepared,
                     decision.tell, arrived);
}

int handle(CommState& state, const Call& call) try {
  const std::lock_guard hold(state.turn);
  if (!state.broken.empty()) return refuse(state);
  const int made = state.ensure_link();
  if (made != MPI_SUCCESS) return made;
  const Seconds arrived = state.link->clocks.now();  // comparing settings waits for all ranks
  if (const Outcome told = compare_settings(state); told.code != MPI_SUCCESS) {
    return fail(state, told);
  }
  // A rank that never waits hears of no failure while it calls.
  if (const auto wrong = state.link->control.read()) {
    return fail(state, {disagreement_class(), *wrong});
  }
  if (state.settings == Settings::different) {
    ++state.stats.fallback_settings;
    return call.native();
  }
  const bool announced = state.background && state.background->serves(call);
  return announced ? handle_announced(state, call, arrived) : handle_alone(state, call, arrived);
} catch (const std::exception& error) {
  if (UserCode::threw()) throw;
  const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return fail(state, memory ? Outcome{MPI_ERR_NO_MEM, "no memory for the call"}
                            : Outcome{MPI_ERR_OTHER, error.what()});
}

int follow_route(CommState& state, const Call& call) {
  const Route way = route(state, call);
  if (way == Route::latecomer) return handle(state, call);
  ++*counter(state.stats, way);
  return call.native();
}

int recorded(CommState& state, const Call& call) {
  RecordedCall record(state, call);
  const int code = follow_route(state, call);
  record.end(code);
  return code;
}

}  // namespace

int carry_out(const Call& call) {
  if (call.comm == MPI_COMM_NULL) return call.native();
  CommState& state = state_of(call.comm);
  if (!state.started->empty()) carry_out_started(state);
  return recorded(state, call);
}

int carry_out_now(const Call& call) { return recorded(state_of(call.comm), call); }

}  // namespace latecomer
