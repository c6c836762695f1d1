// The MPI communicator that all links of a drop-in library share: all ranks of MPI_COMM_WORLD, made
// once, in MPI_Init. A link is some of its ranks and a range of its tags (a slot), so that linking
// ranks makes no communicator: some MPI libraries do not survive it where other threads make some,
// and the program's are never used.
#pragma once

#include <memory>
#include <optional>

#include "agreement/slots.hpp"
#include "transports/mpi/link.hpp"

namespace latecomer::shared_comm {

/// Collective over MPI_COMM_WORLD. Returns MPI's code.
[[nodiscard]] int make();
/// True if it was made.
[[nodiscard]] bool exists();
/// All its ranks, with the tags of messages that are no link's.
[[nodiscard]] const Link& link();

// As those of Slots, by any thread; take() only if the communicator has tags for such a slot.
[[nodiscard]] Slot propose(Slot above);
[[nodiscard]] bool take(Slot slot);
void give_back(Slot slot);
/// The link of these ranks by a slot that all of them took.
[[nodiscard]] Link link_of(Slot slot, std::shared_ptr<const Members> members, Rank me);

}  // namespace latecomer::shared_comm
