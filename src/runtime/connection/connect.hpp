// When latecomer is to handle calls on a communicator: the link, equal settings, a common clock.
#pragma once

#include "runtime/call/run.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer {

/// Whether this process may make another link: MPI libraries run out of communicators, and those
/// of the program come first.
[[nodiscard]] bool may_connect(const CommState& state);

/// Collective. A link is made unless it is there. Fails as a call does, also where MPI could not
/// make another communicator (`resources_failed`).
[[nodiscard]] Outcome make_resources(CommState& state);

/// Collective, in a call. A link is made unless it is there, and settings are compared unless they
/// were. Fails as make_resources() does.
[[nodiscard]] Outcome connect(CommState& state);

/// Collective, when a first class of calls became active: as connect(), and arrivals are watched.
/// Where MPI could not make a link nothing is ever active.
[[nodiscard]] Outcome connect_for_choice(CommState& state);

/// Collective: arrivals are watched from now on, on a clock that all ranks share.
[[nodiscard]] Outcome watch_arrivals(CommState& state);

/// What this rank does to carry the plan out.
[[nodiscard]] Prepared& prepare(CommState& state, const std::shared_ptr<const Plan>& plan,
                                bool in_place);

}  // namespace latecomer
