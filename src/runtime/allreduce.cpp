#include "runtime/allreduce.hpp"

#include <mutex>
#include <new>

#include "base/error.hpp"
#include "capi/core/last_error.hpp"
#include "engine/engine.hpp"
#include "runtime/background/background.hpp"
#include "runtime/clocks/clock_sync.hpp"
#include "runtime/decision.hpp"
#include "runtime/log.hpp"
#include "runtime/operators.hpp"
#include "runtime/persistent.hpp"
#include "runtime/problem_of.hpp"
#include "runtime/run.hpp"
#include "runtime/settings.hpp"
#include "runtime/statistics/recorded_call.hpp"

namespace latecomer {
namespace {

int native(const AllreduceArguments& call) {
  return PMPI_Allreduce(call.sendbuf, call.recvbuf, static_cast<int>(call.count), call.type,
                        call.op, call.comm);
}

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

/// Carries out a program on the link. `buffers` are the call's, `op` its operator.
Outcome carry_out(CommState& state, const Prepared& prepared, Buffers buffers, MPI_Op op,
                  Courier* courier) {
  Link& link = *state.link;
  link.transport.begin(std::move(buffers), op, {link.calls, prepared.program.plan_hash}, courier);
  EngineOptions options;
  options.window = state.tuning.window;
  options.combine_before_arrival = kind_of(op) == OperatorKind::built_in;
  Engine engine(prepared.index, link.transport, options);
  return run(engine, link, {state.comm, state.tuning.long_wait});
}

Outcome allreduce_by(CommState& state, const AllreduceArguments& call, const Prepared& prepared,
                     Seconds arrived) {
  Link& link = *state.link;
  link.control.enter(link.calls, prepared.program.plan_hash);
  Courier* const courier = state.watch ? &state.watch->enter(arrived) : nullptr;
  Buffers buffers(Layout(call.type), call.in_place() ? nullptr : call.sendbuf, call.recvbuf,
                  link.scratch, prepared.program.scratch_count);
  const Outcome outcome = carry_out(state, prepared, std::move(buffers), call.op, courier);
  if (outcome.code == MPI_SUCCESS && state.watch) state.watch->leave(link.clocks.now());
  return outcome;
}

/// All ranks have been in the call: nobody who tells the others waits for one who still computes.
Outcome tell_all(CommState& state, const Problem& problem, Seconds arrived) {
  Link& link = *state.link;
  const Prepared& telling = state.plans.telling(problem, state.rank);
  link.control.enter(link.calls, telling.program.plan_hash);
  Courier& courier = state.watch->tell_of(arrived, link.clocks.now());
  Buffers none(Layout(MPI_BYTE), nullptr, nullptr, link.scratch, 0);
  const Outcome outcome = carry_out(state, telling, std::move(none), MPI_SUM, &courier);
  if (outcome.code == MPI_SUCCESS) state.watch->told();
  return outcome;
}

/// The others wait for this rank: they are told before anything else.
int fail(CommState& state, const Outcome& outcome) {
  ++state.stats.failed;
  state.broken = outcome.why;
  if (state.link) {
    state.link->control.alarm();
    state.link->transport.abandon();
  }
  const std::string text = describe(state.comm) + ": " + outcome.why;
  log_line(text);
  set_last_error(text);
  PMPI_Comm_call_errhandler(state.comm, outcome.code);
  return outcome.code;
}

int refuse(CommState& state) {
  ++state.stats.failed;
  set_last_error(describe(state.comm) + " failed earlier: " + state.broken);
  PMPI_Comm_call_errhandler(state.comm, disagreement_class());
  return disagreement_class();
}

/// All ranks have just been here: the time to compare clocks, if it is due.
Outcome note_arrivals(CommState& state) {
  if (!state.watch) return {};
  learn(state);
  if (!state.clock_refresh.due(state.watch->last_arrival())) return {};
  return refresh_clocks(*state.link, {state.comm, state.tuning.long_wait});
}

int handle_natively(CommState& state, const AllreduceArguments& call, const Problem& problem,
                    bool tell, Seconds arrived) {
  ++state.stats.native;
  state.parameters = "as=native";
  if (!tell) {
    if (state.watch) state.watch->miss();
    return native(call);
  }
  const int code = native(call);
  if (code != MPI_SUCCESS) return code;
  if (const Outcome told = tell_all(state, problem, arrived); told.code != MPI_SUCCESS) {
    return fail(state, told);
  }
  const Outcome noted = note_arrivals(state);
  return noted.code == MPI_SUCCESS ? MPI_SUCCESS : fail(state, noted);
}

int end_handled(CommState& state, Outcome outcome, const Prepared& prepared) {
  if (outcome.code == MPI_SUCCESS) outcome = note_arrivals(state);
  if (outcome.code != MPI_SUCCESS) return fail(state, outcome);
  ++state.stats.handled;
  state.parameters =
      state.automatic() ? describe_parameters(prepared.plan, "auto") : prepared.parameters;
  return MPI_SUCCESS;
}

/// No candidate takes the problem, on no rank.
int handle_refused(CommState& state, const AllreduceArguments& call) {
  ++state.stats.fallback_plan;
  if (state.watch) state.watch->miss();
  return native(call);
}

/// Rank 0 announces the plan; progress threads may have begun it.
int handle_announced(CommState& state, const AllreduceArguments& call, Seconds arrived) {
  Background& background = *state.background;
  const Outcome joined = background.join(call, arrived);
  if (joined.code != MPI_SUCCESS) return fail(state, joined);
  if (background.prepared() != nullptr) {
    return end_handled(state, background.carry_out(call), *background.prepared());
  }
  if (background.why_native().empty()) {
    return handle_natively(state, call, problem_of(state.ranks, call), background.tells(), arrived);
  }
  set_last_error(background.why_native());
  return handle_refused(state, call);
}

/// Every rank plans the call.
int handle_alone(CommState& state, const AllreduceArguments& call, Seconds arrived) {
  if (state.background) {
    if (const Outcome obstacle = state.background->obstacle(); obstacle.code != MPI_SUCCESS) {
      return fail(state, obstacle);
    }
  }
  ++state.link->calls;
  const Problem problem = problem_of(state.ranks, call);
  Decision decision;
  const Prepared* const prepared = prepare(state, problem, decision);
  if (decision.choice.algorithm == nullptr) return handle_refused(state, call);
  if (prepared == nullptr) return handle_natively(state, call, problem, decision.tell, arrived);
  return end_handled(state, allreduce_by(state, call, *prepared, arrived), *prepared);
}

int handle(CommState& state, const AllreduceArguments& call) try {
  const std::lock_guard hold(state.turn);
  if (!state.broken.empty()) return refuse(state);
  const int made = state.ensure_link();
  if (made != MPI_SUCCESS) return made;
  const Seconds arrived = state.link->clocks.now();  // comparing settings waits for all ranks
  if (const Outcome told = compare_settings(state); told.code != MPI_SUCCESS) {
    return fail(state, told);
  }
  if (state.settings == Settings::different) {
    ++state.stats.fallback_settings;
    return native(call);
  }
  const bool announced = state.background && state.background->serves(call);
  return announced ? handle_announced(state, call, arrived) : handle_alone(state, call, arrived);
} catch (const std::bad_alloc&) {
  return fail(state, {MPI_ERR_NO_MEM, "no memory for the call"});
}

int carry(CommState& state, const AllreduceArguments& call) {
  const Route way = route(state, call);
  if (way == Route::latecomer) return handle(state, call);
  ++*counter(state.stats, way);
  return native(call);
}

int recorded(CommState& state, const AllreduceArguments& call) {
  RecordedCall record(state, call);
  const int code = carry(state, call);
  record.end(code);
  return code;
}

}  // namespace

int allreduce(const AllreduceArguments& call) {
  if (call.comm == MPI_COMM_NULL) return native(call);
  CommState& state = state_of(call.comm);
  if (!state.started->empty()) carry_out_started(state);
  return recorded(state, call);
}

int allreduce_now(const AllreduceArguments& call) { return recorded(state_of(call.comm), call); }

}  // namespace latecomer
