#include "runtime/call/hooks.hpp"

#include "runtime/progress/async_progress.hpp"
#include "transports/mpi/tags.hpp"

namespace latecomer {
namespace {

/// Makes progress: any probe lets MPI move messages under way.
void look_once(CommState& state) {
  if (state.async_progress) {
    state.async_progress->progress_locked();
  } else if (state.resources) {
    int found = 0;
    const Link& link = state.resources->comm->link();
    PMPI_Iprobe(MPI_ANY_SOURCE, link.tag(Tags::kFailures), link.comm(), &found, MPI_STATUS_IGNORE);
  }
}

void pass_on(CommState& state) {
  const ComputePhase& phase = state.phase;
  if (state.async_progress && phase.fraction() > 0) {
    state.async_progress->report_expected_arrival(state.resources->clocks.common(phase.arrival()),
                                                  phase.fraction());
  }
  look_once(state);
}

}  // namespace

void compute_begin(CommState& state) {
  state.phase.begin(monotonic_clock());
  look_once(state);
}

void compute_progress(CommState& state, double fraction) {
  state.phase.progress(monotonic_clock(), fraction);
  pass_on(state);
}

void compute_end(CommState& state) {
  state.phase.end(monotonic_clock());
  pass_on(state);
}

}  // namespace latecomer
