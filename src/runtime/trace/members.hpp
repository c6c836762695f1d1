// Communicators as traces know them: by their members.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "transports/mpi/mpi.hpp"

namespace latecomer {

/// The members of a communicator of so many ranks, by their ranks of MPI_COMM_WORLD; -1 for others.
[[nodiscard]] std::vector<std::int32_t> members_of(MPI_Comm comm, Rank size);

/// A hash of the members.
[[nodiscard]] std::uint64_t key_of(const std::vector<std::int32_t>& members);

}  // namespace latecomer
