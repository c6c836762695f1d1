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

/// Merges them by reductions on the program's communicator, which are not mixed up with its
/// blocking calls. Returns false, on all ranks, if some did not come in time or review other calls,
/// as after wrong arguments on one rank; then none is merged on this communicator any more.
[[nodiscard]] bool review_by_reductions(CommState& state, const CallClass& call_class,
                                        Review& review);

}  // namespace latecomer
