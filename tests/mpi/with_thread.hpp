// True if this run's communicators have progress threads: the program was started with --thread.
// Cases of ranks that plan and wait by themselves are left out then: without a thread they would be
// the same again.
#pragma once

#include "transports/mpi/mpi.hpp"

namespace latecomer::testing {

inline bool with_thread() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

}  // namespace latecomer::testing
