// Starts MPI as --progress requires.
#pragma once

namespace bench {

/// Before the options are read, which needs MPI to report errors: --progress none or thread is told
/// to the library by its environment variable, and a progress thread needs MPI_THREAD_MULTIPLE.
void init_mpi(int* argc, char*** argv);

}  // namespace bench
