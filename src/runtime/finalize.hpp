// The end of MPI: stops the progress thread, drops the resources that freed communicators left to
// later ones, and lets messages leave.
#pragma once

namespace latecomer {

/// Makes MPI_Finalize do so, and then call each given `end`, in the order in which they came, once
/// each. May be called repeatedly. Returns false if MPI was initialized by sessions only.
bool end_with_mpi(void (*end)() = nullptr);

/// Ends the progress thread. To be called right before MPI_Finalize: MPICH switches its locks off
/// before it deletes the attributes of MPI_COMM_SELF, and a thread that is inside it then leaves a
/// lock taken, which ends the process (seen in MPICH 4.0 to 5.0: isThreaded in MPII_Finalize).
void prepare_finalize();

}  // namespace latecomer
