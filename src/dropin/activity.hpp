// The drop-in library is active from MPI_Init to MPI_Finalize, if all ranks have it and its
// settings are equal on all of them.
#pragma once

#include "dropin/fast_path.hpp"

namespace latecomer {

/// True while calls are to be handled.
[[nodiscard]] inline bool is_active() { return fast_path.active.load(std::memory_order_relaxed); }

/// After MPI_Init: finds out whether all ranks of MPI_COMM_WORLD have the library, and sets it up.
/// Returns within seconds where some have not; then rank 0, or the first rank that notices, says
/// so on stderr.
void begin_activity();

}  // namespace latecomer
