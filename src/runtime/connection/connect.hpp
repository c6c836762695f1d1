// Connects the ranks of a communicator before latecomer handles calls: resources, equal settings, a
// common clock.
#pragma once

#include "runtime/call/run.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer {

/// True if this process may make further resources: MPI libraries run out of communicators, and the
/// program's come first.
[[nodiscard]] bool may_connect(const CommState& state);

/// Makes resources unless there are some; collective. Fails as a call does, also if MPI could not
/// make another communicator (`resources_failed`).
[[nodiscard]] Outcome make_resources(CommState& state);

/// Collective, in a call: makes resources unless there are some, and compares settings unless they
/// were compared. Fails as make_resources() does.
[[nodiscard]] Outcome connect(CommState& state);

/// Collective, in a call: as connect(), and watches arrivals if they are to be forecast.
[[nodiscard]] Outcome connect_and_watch(CommState& state);

/// Collective, when the first class of calls became active: as connect(), and starts to watch
/// arrivals. If MPI could not make resources no class is ever active.
[[nodiscard]] Outcome connect_for_choice(CommState& state);

/// Collective: starts to watch arrivals, on a clock that all ranks share.
[[nodiscard]] Outcome watch_arrivals(CommState& state);

/// The executor of this rank's part of the plan.
[[nodiscard]] Prepared& prepare(CommState& state, const std::shared_ptr<const Plan>& plan,
                                bool in_place);

}  // namespace latecomer
