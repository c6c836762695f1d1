// What a call is planned with: the one place where the state of a communicator becomes the
// knowledge that all ranks share.
#pragma once

#include "runtime/comm_state.hpp"

namespace latecomer {

/// As the state is now.
[[nodiscard]] const Knowledge& current_knowledge(CommState& state);

/// Once for each call that is planned. In reproducible mode nothing but the problem and the
/// library's version is known: no arrivals, and the built-in network. Valid until the next call.
[[nodiscard]] const Knowledge& knowledge_of(CommState& state, const Problem& problem);

}  // namespace latecomer
