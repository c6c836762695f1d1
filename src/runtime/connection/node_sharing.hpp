// The memory that the ranks of a node share, for plans that use it. All ranks of a communicator
// have it or none has: other plans would follow from that.
#pragma once

#include "runtime/call/run.hpp"
#include "runtime/comm_state.hpp"

namespace latecomer {

/// The number of ranks that may share a node, by LATECOMER_NODES: 0: all of a machine (not set), 1:
/// every rank is alone (off). A value that cannot be read counts as not set, which is reported once
/// a job.
[[nodiscard]] std::uint64_t ranks_per_node();

/// True if elements of this layout find room in the memory of a node, whatever their number in a
/// program. The same on all ranks.
[[nodiscard]] bool fits_node(const Layout& layout);

/// True if the plan uses memory that was not made yet, or more of it than any plan before. The same
/// on all ranks.
[[nodiscard]] bool lacks_memory(const CommState& state, const Prepared& prepared,
                                const Layout& layout);

/// Collective, in a call: makes the memory of all nodes, or more of it, with room for the plan. If
/// one rank cannot have it no rank does: rank 0 reports that on stderr, and from then on no ranks
/// of the communicator share a node. Fails as a call does.
[[nodiscard]] Outcome share_memory(CommState& state, const Prepared& prepared,
                                   const Layout& layout);

}  // namespace latecomer
