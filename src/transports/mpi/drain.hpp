// Ends requests that no call waits for any more.
#pragma once

#include <vector>

#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// Cancels the receives; a receive or send that already began gets a second to end, then its
/// request is freed. Returns false if one was freed, so that MPI may still use its memory.
bool drain(std::vector<MPI_Request>& receives, std::vector<MPI_Request>& sends);

}  // namespace latecomer
