// The end of MPI: stops the progress thread, drops the resources that freed communicators left to
// later ones, and lets messages leave.
#pragma once

namespace latecomer {

/// Makes MPI_Finalize do so, and then call each given `end`, in no particular order. May be called
/// repeatedly. Returns false if MPI was initialized by sessions only.
bool end_with_mpi(void (*end)() = nullptr);

}  // namespace latecomer
