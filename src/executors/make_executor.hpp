// Makes the executors of a plan, by the kind of its algorithm. No other place distinguishes
// programs from protocols.
#pragma once

#include "base/network.hpp"
#include "protocol/executor.hpp"
#include "schedule/plan.hpp"

namespace latecomer {

/// Makes the executor of rank `me`. `eager`: elements of the longest message whose receive may be
/// posted early. Throws Error for a rank that is not in the plan.
[[nodiscard]] std::unique_ptr<Executor> make_executor(const Plan& plan, Rank me, Count eager);

/// Makes the executors of all ranks, for this network.
[[nodiscard]] Executors make_executors(const Plan& plan, const Network& network);

}  // namespace latecomer
