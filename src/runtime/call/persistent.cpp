#include "runtime/call/persistent.hpp"

#include "base/error.hpp"
#include "runtime/attachment.hpp"
#include "runtime/call/execute.hpp"
#include "runtime/call/request.hpp"
#include "runtime/connection/connect.hpp"

namespace latecomer {
namespace {

/// Prepares the call, so that its first start costs nothing for that. A refusal is reported when
/// the call is waited for, as with any call.
void prepare_early(CommState& state, const Call& arguments) try {
  const Request request = understand(state, arguments);
  if (request.by_library != nullptr) return;
  if (const auto plan = state.chooser.likely_plan(request.problem)) {
    (void)prepare(state, plan, arguments.in_place());
  }
} catch (const Error&) {
  return;
}

}  // namespace

PersistentCall::PersistentCall(const Call& arguments) : arguments_(arguments) {
  CommState& state = state_of(arguments.comm);
  prepare_early(state, arguments);
  comm_ = state.started;
}

std::shared_ptr<StartedCalls> PersistentCall::queue() const {
  auto started = comm_.lock();
  if (started) return started;
  throw std::runtime_error("request: its communicator was freed; free the request too");
}

void PersistentCall::start() {
  const auto started = queue();
  if (stage_ != Stage::inactive) {
    throw Error("request", "started", "one that was waited for since its last start");
  }
  started->push_back(this);
  stage_ = Stage::started;
}

int PersistentCall::wait() {
  if (stage_ == Stage::inactive) return MPI_SUCCESS;
  const auto started = queue();
  try {
    while (stage_ == Stage::started) execute_first(*started);
  } catch (...) {
    if (stage_ == Stage::ended) stage_ = Stage::inactive;  // this call threw: it was waited for
    throw;
  }
  stage_ = Stage::inactive;
  return code_;
}

void PersistentCall::execute_first(StartedCalls& started) {
  PersistentCall& first = *started.front();
  started.pop_front();
  first.stage_ = Stage::ended;
  first.code_ = MPI_ERR_OTHER;  // should it throw
  first.code_ = execute(state_of(first.arguments_.comm), first.arguments_);
}

int execute_in_order(const Call& call) {
  CommState* const state = state_for_call(call.comm);
  if (state == nullptr) return call.native();
  if (!state->started->empty()) execute_started(*state);
  return execute(*state, call);
}

void execute_started(const CommState& state) {
  const std::shared_ptr<StartedCalls> started = state.started;
  while (!started->empty()) PersistentCall::execute_first(*started);
}

void refuse_while_started(const CommState& state, const char* what) {
  if (state.started->empty()) return;
  throw std::runtime_error(std::string(what) +
                           " cannot be set while a request is started: call latecomer_wait first");
}

}  // namespace latecomer
