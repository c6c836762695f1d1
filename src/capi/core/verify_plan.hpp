// The check of a plan, of either kind: of the programs of all ranks, or, where the algorithm
// decides while it runs, of what its ranks did in one call on the virtual network.
#pragma once

#include <optional>

#include "algorithms/registry.hpp"
#include "base/network.hpp"
#include "verify/verify.hpp"

namespace latecomer {

/// `arrivals`, `placement`: of the call, where there is one; empty as in SimulationOptions.
[[nodiscard]] std::optional<Counterexample> verify_plan(const Plan& plan, const Network& network,
                                                        const std::vector<Seconds>& arrivals,
                                                        const Placement& placement);

}  // namespace latecomer
