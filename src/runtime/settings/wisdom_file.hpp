// The file that the environment variable LATECOMER_WISDOM names: what the automatic choice learns
// of the network in a job is kept there at its end, and is what the next job begins with.
//
// All ranks read the file, once, and compare hashes of it together with the settings: where they
// differ nobody uses it. Rank 0 of MPI_COMM_WORLD writes it, in MPI_Finalize. In reproducible mode
// communicators leave it alone.
#pragma once

#include <cstdint>

#include "runtime/comm_state.hpp"

namespace latecomer {

/// The hash of what this rank has read; 0: nothing is wanted. Reads the file if it was
/// not read. A file that cannot be used is reported on stderr, once a job.
[[nodiscard]] std::uint64_t hash_of_wisdom(const CommState& state);

/// Gives the communicator what the file has for it. `alike`: all its ranks have read the same; if
/// not, that is reported on stderr, once a job.
void begin_with_wisdom(CommState& state, bool alike);

/// Adds a communicator, or notes what one has learnt that is about to be freed.
void wisdom_open(CommState& state);
void wisdom_close(CommState& state);

}  // namespace latecomer
