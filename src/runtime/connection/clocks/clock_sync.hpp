// Gives a communicator's ranks a common clock and keeps it right. Down a binomial tree of the
// clocks (Hunold, Carpen-Amarie: Hierarchical clock synchronization in MPI, 2018) each leader asks
// its parent for the common time again and again, in a few small messages; then, down a binomial
// tree of the ranks that share its clock, each takes over the model of its leader. Together that is
// O(log P) rounds, and no message at all where all ranks read one clock.
#pragma once

#include "runtime/call/run.hpp"
#include "runtime/connection/comm_resources.hpp"

namespace latecomer {

/// Sets the common clock; collective over the ranks, between calls. Fails as a call does: with
/// MPI's code, or when another rank failed.
[[nodiscard]] Outcome set_up_clocks(CommResources& resources, const WaitOptions& options);

/// Refreshes the common clock, with fewer questions: bounds its error anew and measures the drift.
/// All ranks must decide alike to call it: ClockRefresh.
[[nodiscard]] Outcome refresh_clocks(CommResources& resources, const WaitOptions& options);

}  // namespace latecomer
