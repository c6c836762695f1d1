// Lifts a program of the nodes to a program of their ranks: the node's driver, one of its ranks,
// carries out what the program does, on the buffer that the node's ranks share.
#pragma once

#include <vector>

#include "schedule/builder.hpp"
#include "schedule/placement.hpp"

namespace latecomer {

/// The places of a plan among nodes, and the ranks that carry out the messages of the nodes.
struct Drivers {
  Nodes nodes;
  std::vector<Rank> rank_of;  // of each node

  [[nodiscard]] Rank of(Rank node) const { return rank_of[static_cast<std::size_t>(node)]; }
  [[nodiscard]] bool drives(Rank rank) const { return of(nodes.node(rank)) == rank; }
};

/// Of each node the rank that is expected first, ties by rank.
[[nodiscard]] std::vector<Count> first_ranks(const Nodes& nodes,
                                             const std::vector<Seconds>& arrivals);
/// The arrivals of nodes: of each the last one of its ranks. Empty without arrivals.
[[nodiscard]] std::vector<Seconds> arrivals_of_nodes(const Nodes& nodes,
                                                     const std::vector<Seconds>& arrivals);

struct Lifted {
  std::vector<OpIndex> told;  // the receives that carried arrival stamps
};

/// Adds the operations of `inner`, the in-place program of this rank's node, for its driver. Its
/// input and output become `vector`; its messages go to the drivers of the other nodes. Messages
/// that carry arrival stamps wait for `stamps_known`.
Lifted lift(const Program& inner, const Drivers& drivers, const Slice& vector, OpIndex stamps_known,
            Builder& builder);

}  // namespace latecomer
