// The drop-in library is active from MPI_Init to MPI_Finalize, if all ranks have it and its
// settings are equal on all of them; at the end it sums the job up.
#pragma once

#include "clocks/clock.hpp"
#include "dropin/fast_path.hpp"
#include "runtime/report/job_summary.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

// The summary of the job, from all its ranks.

/// Collective over `comm`, which has the ranks of MPI_COMM_WORLD; the summary is right on its rank
/// 0. `clock`: the common time at this rank's.
[[nodiscard]] JobSummary summarise_job(MPI_Comm comm, const RankTotals& mine, Seconds elapsed,
                                       const ClockModel& clock);

/// True while calls are to be handled.
[[nodiscard]] inline bool is_active() { return fast_path.active.load(std::memory_order_relaxed); }

/// After MPI_Init: finds out whether all ranks of MPI_COMM_WORLD have the library, and sets it up.
/// Returns within seconds where some have not; then rank 0, or the first rank that notices, says
/// so on stderr.
void begin_activity();

}  // namespace latecomer
