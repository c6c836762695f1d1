// MPI_Allreduce with the algorithm chosen for the communicator.
#pragma once

#include "runtime/route.hpp"

namespace latecomer {

/// Returns MPI's code; errors went through the communicator's error handler.
int allreduce(const AllreduceArguments& arguments);
/// The same before persistent calls that are started: they have their turn later.
int allreduce_now(const AllreduceArguments& arguments);

}  // namespace latecomer
