// The progress mode of a rank. It has a progress thread if LATECOMER_PROGRESS asks for one and
// MPI_THREAD_MULTIPLE allows it. A communicator uses them if all its ranks have one.
#pragma once

#include "runtime/connection/introduction.hpp"

namespace latecomer {

/// The mode of this rank. A value of LATECOMER_PROGRESS that cannot be read asks for no thread,
/// which is reported once a job.
[[nodiscard]] ProgressMode progress_mode();

/// True if every rank has a progress thread. If only some have one, rank 0 reports that on stderr,
/// for the communicator `user`. If MPI_THREAD_MULTIPLE is missing on all ranks, that is reported
/// once a job.
[[nodiscard]] bool all_have_progress_threads(const Introductions& all, MPI_Comm user, Rank me);

}  // namespace latecomer
