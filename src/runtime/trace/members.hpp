// Communicators as traces know them: by their members, and by how they were made.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

struct CommState;

/// The members of a communicator of so many ranks, by their ranks of MPI_COMM_WORLD; -1 for others.
[[nodiscard]] std::vector<std::int32_t> members_of(MPI_Comm comm, Rank size);

/// The name that all ranks have for it, whichever they use first; 0: it was made in a way that
/// gives none, so that ranks number those with the same members as they come to use them.
[[nodiscard]] std::uint64_t common_name(const CommState& state);

/// A hash of the members.
[[nodiscard]] std::uint64_t key_of(const std::vector<std::int32_t>& members);

}  // namespace latecomer
