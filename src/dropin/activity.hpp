// The drop-in library is active from MPI_Init to MPI_Finalize, if all ranks have it and its
// settings are equal on all of them.
#pragma once

#include <atomic>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// True while calls are to be handled.
[[nodiscard]] inline bool is_active();

/// After MPI_Init: finds out whether all ranks of MPI_COMM_WORLD have the library, and sets it up.
/// Returns within seconds where some have not; then rank 0, or the first rank that notices, says
/// so on stderr.
void begin_activity();
/// Before MPI_Finalize.
void end_activity();

/// Vectors below so many bytes are left to the MPI library at once.
[[nodiscard]] inline Count min_bytes();

namespace detail {
inline std::atomic<bool> active{false};
inline Count least_bytes = 0;
}  // namespace detail

inline bool is_active() { return detail::active.load(std::memory_order_relaxed); }
inline Count min_bytes() { return detail::least_bytes; }

}  // namespace latecomer
