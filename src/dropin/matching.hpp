// The calls of all ranks, brought together when the job ends: who waited for whom, and where.
//
// Each rank has stamps of its own calls (runtime/trace/stamps.hpp). The members of a communicator
// share the work: each gets all arrivals of an equal part of the calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "clocks/clock.hpp"
#include "runtime/report/job_summary.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// Collective over `comm`, which has the ranks of MPI_COMM_WORLD. `clock`: the common time at this
/// rank's. The result is complete on rank 0.
[[nodiscard]] JobWaits match_calls(MPI_Comm comm, const ClockModel& clock);

}  // namespace latecomer
