// Which communicator of the program's this is, alike on all its ranks, found without any message:
// each communicator is named when it is made, after the one that it was made from, and the how
// manyth one it was. MPI lets all ranks make the communicators of a parent in the same order. One
// that some ranks of a parent made by themselves, or two groups that share none, is named after its
// ranks, and the how manyth with these it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

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
/// The same by a call of the new one's ranks alone, with these words. `parent`: MPI_COMM_WORLD if
/// there is none.
void name_by_ranks(MPI_Comm parent, std::uint64_t words, MPI_Comm child);
/// While it lives, this thread begins a duplicate of `parent`, which MPI may complete later: so MPI
/// itself hands the name on.
class Duplicating {
 public:
  explicit Duplicating(MPI_Comm parent);
  Duplicating(const Duplicating&) = delete;
  Duplicating& operator=(const Duplicating&) = delete;
  ~Duplicating();
};
/// The ranks of a communicator as places in MPI_COMM_WORLD, of two groups those of both, in an
/// order that is alike on both sides.
struct Places {
  std::vector<int> all;  // empty: some have none
  std::size_t own = 0;   // where those of the rank's own group begin
};
[[nodiscard]] Places places_of(MPI_Comm comm);
/// The name of a communicator of one group or two; 0: it was made in a way that is not known here.
[[nodiscard]] std::uint64_t name_of(MPI_Comm comm);
/// Nothing if the communicator was made in a way that is not known here, has one rank, two groups,
/// or ranks of another MPI_COMM_WORLD.
[[nodiscard]] std::optional<Identity> identity_of(MPI_Comm comm);
/// True if identity_of() knows it.
[[nodiscard]] bool has_identity(MPI_Comm comm);
/// From now on nothing is known of the communicator, which is being freed. False: nothing was.
bool lose_identity(MPI_Comm comm);

}  // namespace latecomer
