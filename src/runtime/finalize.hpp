// The end of MPI: the progress thread stops first, what was left to later communicators goes, and
// letters leave.
#pragma once

namespace latecomer {

/// From now on MPI_Finalize does so, and calls each `end` that was given, in no order, once the
/// progress thread has stopped. Any number of times. False: MPI was not initialized but by
/// sessions.
bool end_with_mpi(void (*end)() = nullptr);

}  // namespace latecomer
