// Which communicator of the program's this is, alike on all its ranks, found without any message:
// each communicator is named after the one that it was made from, and the how manyth one it was.
// MPI lets all ranks make the communicators of a parent in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "transports/mpi/link.hpp"

namespace latecomer {

struct Identity {
  std::uint64_t name = 0;
  std::shared_ptr<const Members> members;  // their places in MPI_COMM_WORLD
  Rank me = 0;
};

/// Names MPI_COMM_WORLD. Others are named from then on.
void name_world();
/// A communicator was made from `parent` by a call of all its ranks; MPI_COMM_NULL: not for this
/// rank, or not at all.
void name_child(MPI_Comm parent, MPI_Comm child);
/// The same by a call of the new one's ranks alone, with this tag: MPI_Comm_create_group.
void name_child_of_group(MPI_Comm parent, int tag, MPI_Comm child);
/// Nothing if the communicator was made in a way that is not known here, has one rank, or ranks of
/// another MPI_COMM_WORLD.
[[nodiscard]] std::optional<Identity> identity_of(MPI_Comm comm);
/// True if identity_of() knows it.
[[nodiscard]] bool has_identity(MPI_Comm comm);

}  // namespace latecomer
