// The MPI library's own collectives, as calls reach them. A drop-in library puts the functions of
// other tools here, which count or time calls themselves and then call PMPI.
#pragma once

#include "transports/mpi/mpi.hpp"

namespace latecomer {

struct NativeCalls {
  decltype(&PMPI_Allreduce) allreduce = PMPI_Allreduce;
  decltype(&PMPI_Reduce) reduce = PMPI_Reduce;
  decltype(&PMPI_Bcast) bcast = PMPI_Bcast;
  decltype(&PMPI_Allgather) allgather = PMPI_Allgather;
  decltype(&PMPI_Allgatherv) allgatherv = PMPI_Allgatherv;
  decltype(&PMPI_Gather) gather = PMPI_Gather;
  decltype(&PMPI_Scatter) scatter = PMPI_Scatter;
  decltype(&PMPI_Sendrecv) sendrecv = PMPI_Sendrecv;  // of a rank to itself: host_buffers.hpp
};

/// Changed before the first call only.
inline NativeCalls native_calls;

}  // namespace latecomer
