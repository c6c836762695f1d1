// The summary of the job, from all its ranks.
#pragma once

#include "clocks/clock.hpp"
#include "runtime/report/job_summary.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// Collective over `comm`, which has the ranks of MPI_COMM_WORLD; the summary is right on its rank
/// 0. `clock`: the common time at this rank's.
[[nodiscard]] JobSummary summarise_job(MPI_Comm comm, const RankTotals& mine, Seconds elapsed,
                                       const ClockModel& clock);

}  // namespace latecomer
