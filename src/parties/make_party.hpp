// What takes part in the calls of a plan: of each kind of row its own. The one place that tells
// programs from protocols.
#pragma once

#include "base/network.hpp"
#include "protocol/party.hpp"
#include "schedule/plan.hpp"

namespace latecomer {

/// `eager`: elements of the longest message whose receive may be posted ahead of its turn. Throws
/// Error for a rank that the plan does not know.
[[nodiscard]] std::unique_ptr<Party> make_party(const Plan& plan, Rank me, Count eager);

/// All ranks, on the network that they are to run on.
[[nodiscard]] Parties make_parties(const Plan& plan, const Network& network);

}  // namespace latecomer
