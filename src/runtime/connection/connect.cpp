#include "runtime/connection/connect.hpp"

#include "runtime/connection/clocks/clock_sync.hpp"
#include "runtime/settings/settings.hpp"

namespace latecomer {
namespace {

constexpr int kMaxInternalComms = 256;  // in a process, for automatic choices

}  // namespace

bool may_connect(const CommState& state) {
  return state.resources != nullptr ||
         (!state.resources_failed && InternalComm::living() < kMaxInternalComms);
}

Outcome make_resources(CommState& state) {
  const int code = state.ensure_resources();
  if (code == MPI_SUCCESS) return {};
  if (state.resources_failed)
    return {code, state.identity ? "the ranks could not be linked"
                                 : "MPI could not make another communicator beside this one"};
  return {code, "MPI could not tell all ranks of each other"};
}

/// If the resources are made in a call, their introductions show the current settings. If they were
/// made before the first call, ranks may have changed settings since, each on its own.
Outcome connect(CommState& state) {
  const bool fresh = state.resources == nullptr;
  Outcome made = make_resources(state);
  if (made.code != MPI_SUCCESS) return made;
  state.resources->failures.enter_call(state.calls, state.resources->calls + 1);
  if (fresh) conclude(state, state.resources->introduced);
  return compare_settings(state);
}

Outcome watch_arrivals(CommState& state) {
  if (!state.resources->clocks.ready()) {
    Outcome set = set_up_clocks(*state.resources, {state.comm, state.tuning.long_wait});
    if (set.code != MPI_SUCCESS) return set;
  }
  state.chooser.watch_arrivals();
  return {};
}

Outcome connect_and_watch(CommState& state) {
  Outcome connected = connect(state);
  const bool watches = state.chooser.policy().online && state.chooser.watch() == nullptr;
  if (connected.code != MPI_SUCCESS || !watches) return connected;
  return state.settings == Settings::alike ? watch_arrivals(state) : connected;
}

Outcome connect_for_choice(CommState& state) {
  Outcome connected = connect(state);
  if (state.resources_failed) {
    state.chooser.give_up();
    return {};
  }
  if (connected.code != MPI_SUCCESS || state.chooser.watch() != nullptr) return connected;
  return watch_arrivals(state);
}

Prepared& prepare(CommState& state, const std::shared_ptr<const Plan>& plan, bool in_place) {
  const Network& network = state.chooser.policy().network;
  const Count eager = network.eager_elements(plan->problem.element_bytes);
  return state.programs.get(plan, in_place, state.rank, eager);
}

}  // namespace latecomer
