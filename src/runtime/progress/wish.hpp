// Who may have a progress thread: LATECOMER_PROGRESS asks for it, MPI_THREAD_MULTIPLE allows it,
// and all ranks of a communicator must have it.
#pragma once

#include "runtime/connection/introduction.hpp"

namespace latecomer {

/// This rank's. A value that cannot be read asks for none, which is reported once a job.
[[nodiscard]] ProgressWish progress_wish();

/// Whether each rank asks for a progress thread and may have one. Where that is so for some ranks
/// only, rank 0 says so on stderr; `user` is for that. That MPI_THREAD_MULTIPLE is missing on all
/// is reported once a job.
[[nodiscard]] bool all_have_progress_threads(const Introductions& all, MPI_Comm user, Rank me);

}  // namespace latecomer
