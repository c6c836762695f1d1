#include "runtime/allreduce.hpp"

#include <mutex>
#include <new>

#include "base/error.hpp"
#include "capi/core/last_error.hpp"
#include "engine/engine.hpp"
#include "runtime/background/background.hpp"
#include "runtime/clock_sync.hpp"
#include "runtime/log.hpp"
#include "runtime/operators.hpp"
#include "runtime/problem_of.hpp"
#include "runtime/run.hpp"

namespace latecomer {
namespace {

int native(const AllreduceArguments& call) {
  return PMPI_Allreduce(call.sendbuf, call.recvbuf, static_cast<int>(call.count), call.type,
                        call.op, call.comm);
}

/// The plan is the same on every rank, and so is its refusal.
const Prepared* prepare(CommState& state, const AllreduceArguments& call) {
  const Problem problem = problem_of(state.ranks, call);
  if (state.watch) state.knowledge.arrivals = state.watch->expect(problem);
  try {
    return &state.plans.get(state.choice, problem, state.knowledge, state.rank);
  } catch (const Error& error) {
    set_last_error(error.what());
    return nullptr;
  }
}

Outcome carry_out(CommState& state, const AllreduceArguments& call, const Prepared& prepared) {
  if (state.background) {
    if (const Outcome obstacle = state.background->obstacle(); obstacle.code != MPI_SUCCESS) {
      return obstacle;
    }
  }
  Link& link = *state.link;
  ++link.calls;
  link.control.enter(link.calls, prepared.program.plan_hash);
  Courier* const courier = state.watch ? &state.watch->enter(link.clocks.now()) : nullptr;
  link.transport.begin(Buffers(Layout(call.type), call.in_place() ? nullptr : call.sendbuf,
                               call.recvbuf, link.scratch, prepared.program.scratch_count),
                       call.op, {link.calls, prepared.program.plan_hash}, courier);
  EngineOptions options;
  options.window = state.tuning.window;
  options.combine_before_arrival = kind_of(call.op) == OperatorKind::built_in;
  Engine engine(prepared.index, link.transport, options);
  return run(engine, link, {state.comm, state.tuning.long_wait});
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
  state.watch->leave(state.link->clocks.now());
  if (!state.clock_refresh.due(state.watch->last_arrival())) return {};
  return refresh_clocks(*state.link, {state.comm, state.tuning.long_wait});
}

int end_handled(CommState& state, Outcome outcome, const Prepared& prepared) {
  if (outcome.code == MPI_SUCCESS) outcome = note_arrivals(state);
  if (outcome.code != MPI_SUCCESS) return fail(state, outcome);
  ++state.stats.handled;
  state.parameters = prepared.parameters;
  return MPI_SUCCESS;
}

/// Rank 0 announces the plan; progress threads may have begun it.
int handle_announced(CommState& state, const AllreduceArguments& call) {
  Background& background = *state.background;
  const Outcome joined = background.join(call);
  if (joined.code != MPI_SUCCESS) return fail(state, joined);
  if (background.prepared() != nullptr) {
    return end_handled(state, background.carry_out(call), *background.prepared());
  }
  ++state.stats.fallback_plan;
  set_last_error(background.why_native());
  return native(call);
}

int handle(CommState& state, const AllreduceArguments& call) try {
  const std::lock_guard hold(state.turn);
  if (!state.broken.empty()) return refuse(state);
  if (state.background && state.background->serves(call)) return handle_announced(state, call);
  const Prepared* const prepared = prepare(state, call);
  if (prepared == nullptr) {
    ++state.stats.fallback_plan;
    return native(call);
  }
  const int made = state.ensure_link();
  if (made != MPI_SUCCESS) return made;
  return end_handled(state, carry_out(state, call, *prepared), *prepared);
} catch (const std::bad_alloc&) {
  return fail(state, {MPI_ERR_NO_MEM, "no memory for the call"});
}

}  // namespace

int allreduce(const AllreduceArguments& call) {
  if (call.comm == MPI_COMM_NULL) return native(call);
  CommState& state = state_of(call.comm);
  const Route way = route(state, call);
  if (way == Route::latecomer) return handle(state, call);
  ++*counter(state.stats, way);
  return native(call);
}

}  // namespace latecomer
