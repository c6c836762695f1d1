// The end of MPI: the progress thread stops first, what was left to later communicators goes, and
// letters leave.
#pragma once

namespace latecomer {

/// From now on MPI_Finalize does so. Any number of times. False: MPI was not initialized but by
/// sessions.
bool end_with_mpi();

}  // namespace latecomer
