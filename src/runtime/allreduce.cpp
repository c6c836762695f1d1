#include "runtime/allreduce.hpp"

#include <new>

#include "base/error.hpp"
#include "capi/core/last_error.hpp"
#include "engine/engine.hpp"
#include "runtime/clock_sync.hpp"
#include "runtime/knowledge.hpp"
#include "runtime/log.hpp"
#include "runtime/operators.hpp"
#include "runtime/persistent.hpp"
#include "runtime/recorded_call.hpp"
#include "runtime/run.hpp"
#include "runtime/settings.hpp"

namespace latecomer {
namespace {

int native(const AllreduceArguments& call) {
  return PMPI_Allreduce(call.sendbuf, call.recvbuf, static_cast<int>(call.count), call.type,
                        call.op, call.comm);
}

/// The plan is the same on every rank, and so is its refusal.
const Prepared* prepare(CommState& state, const AllreduceArguments& call) {
  const Problem problem = problem_of(state, call);
  const Knowledge& knowledge = knowledge_of(state, problem);
  try {
    return &state.plans.get(state.choice, problem, knowledge, state.rank);
  } catch (const Error& error) {
    set_last_error(error.what());
    return nullptr;
  }
}

/// `arrived`: when this rank did, on the link's clock.
Outcome carry_out(CommState& state, const AllreduceArguments& call, const Prepared& prepared,
                  Seconds arrived) {
  Link& link = *state.link;
  link.control.enter(link.calls, prepared.program.plan_hash);
  Courier* const courier = state.watch ? &state.watch->enter(arrived) : nullptr;
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

int handle(CommState& state, const AllreduceArguments& call) try {
  if (!state.broken.empty()) return refuse(state);
  const int made = state.ensure_link();
  if (made != MPI_SUCCESS) return made;
  ++state.link->calls;
  const Seconds arrived = state.link->clocks.now();  // comparing settings waits for all ranks
  if (const Outcome told = compare_settings(state); told.code != MPI_SUCCESS) {
    return fail(state, told);
  }
  if (state.settings == Settings::different) {
    ++state.stats.fallback_settings;
    return native(call);
  }
  const Prepared* const prepared = prepare(state, call);
  if (prepared == nullptr) {
    ++state.stats.fallback_plan;
    return native(call);
  }
  const Outcome outcome = carry_out(state, call, *prepared, arrived);
  if (outcome.code != MPI_SUCCESS) return fail(state, outcome);
  if (const Outcome told = note_arrivals(state); told.code != MPI_SUCCESS) return fail(state, told);
  ++state.stats.handled;
  state.parameters = prepared->parameters;
  return MPI_SUCCESS;
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
