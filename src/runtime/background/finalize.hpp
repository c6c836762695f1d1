// The end of MPI: the progress thread stops first, and letters leave.
#pragma once

namespace latecomer {

/// From now on MPI_Finalize ends the progress thread. Any number of times.
void end_with_mpi();

}  // namespace latecomer
