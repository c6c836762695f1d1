// Who may have a progress thread: LATECOMER_PROGRESS asks for it, MPI_THREAD_MULTIPLE allows it,
// and all ranks of a communicator must have it.
#pragma once

#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// Collective over `comm`. True on all ranks if each of them asks for a progress thread and may
/// have one. Where that is so for some ranks only, rank 0 says so on stderr; `user` is for that. A
/// value that cannot be read asks for none; that, or that MPI_THREAD_MULTIPLE is missing, is
/// reported once a job.
[[nodiscard]] bool all_have_progress_threads(MPI_Comm comm, MPI_Comm user);

}  // namespace latecomer
