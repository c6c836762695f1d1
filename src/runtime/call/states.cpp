#include "runtime/call/states.hpp"

#include "base/error.hpp"
#include "runtime/call/by_library.hpp"
#include "runtime/call/decided.hpp"
#include "runtime/call/due.hpp"
#include "runtime/connection/connect.hpp"
#include "runtime/progress/async_progress.hpp"
#include "runtime/settings/defaults.hpp"

namespace latecomer {
namespace {

/// Plain: the MPI library was chosen, or has the call because of its arguments, which may be wrong
/// or which MPI allows to differ. Then ranks that decide are notified.
Ending plain(CommState& state, const Request& request, Seconds entered) {
  const bool chosen = request.by_library == &latecomer_stats::native;  // on all ranks
  if (state.resources && !chosen && state.broken.empty()) {
    if (const auto wrong = state.resources->failures.leave_to_library(state.calls))
      return fail(state, {disagreement_class(), *wrong});
  }
  return execute_by_library(state, request, request.by_library, nullptr, entered);
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
  ending.call_class = call_class;
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
