// What the ranks of a communicator agree on in meetings (meeting.hpp).
#pragma once

#include <memory>

#include "choose/review.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer {

/// Gives the communicator's ranks their introductions, and a link. Returns MPI_SUCCESS on all of
/// them or on none.
[[nodiscard]] int link_by_meeting(CommState& state, const Identity& identity, Introduction mine,
                                  Introductions& all, std::unique_ptr<InternalComm>& made);

/// Merges the reviews of all ranks, which are about calls of this problem's class. Returns false if
/// some did not come; then the communicator is left to the MPI library.
[[nodiscard]] bool review_by_meeting(CommState& state, const Identity& identity,
                                     const Problem& problem, Review& review);

}  // namespace latecomer
