// The answers of the C API without MPI that C++ callers ask too: the registry, and the check of a
// plan.
#pragma once

#include <optional>
#include <string>

#include "algorithms/registry.hpp"
#include "base/network.hpp"
#include "verify/verify.hpp"

namespace latecomer {

/// The registry as JSON, for the C API and scripts.
[[nodiscard]] std::string registry_as_json();

// The check of a plan, of either kind: of the programs of all ranks, or, where the algorithm
// decides while it runs, of what its ranks did in one call on the virtual network.

/// `arrivals`, `placement`: of the call, where there is one; empty as in SimulationOptions.
[[nodiscard]] std::optional<Counterexample> verify_plan(const Plan& plan, const Network& network,
                                                        const std::vector<Seconds>& arrivals,
                                                        const Placement& placement);

}  // namespace latecomer
