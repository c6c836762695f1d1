// The summary of the job, from all its ranks.
#pragma once

#include "runtime/report/job_summary.hpp"

namespace latecomer {

/// Collective over MPI_COMM_WORLD, on the communicator of ours; the summary is right on its rank 0.
[[nodiscard]] JobSummary summarise_job(RankTotals mine, Seconds elapsed);

}  // namespace latecomer
