// Whether ranks outnumber the cores of a machine.
#pragma once

#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// Of this rank's machine: containers and network namespaces count with their host. Collective.
[[nodiscard]] bool ranks_outnumber_cores(MPI_Comm comm);

}  // namespace latecomer
