// Lifts a program of the nodes to a program of their ranks: the node's driver, one of its ranks,
// carries out what the program does, on the buffer that the node's ranks share.
#pragma once

#include <span>
#include <vector>

#include "schedule/builder.hpp"
#include "schedule/placement.hpp"

namespace latecomer {

/// The ranks that carry out the messages of the nodes.
struct Drivers {
  const Nodes& nodes;
  std::span<const Count> rank_of;  // of each node

  [[nodiscard]] Rank of(Rank node) const {
    return static_cast<Rank>(rank_of[static_cast<std::size_t>(node)]);
  }
  [[nodiscard]] bool drives(Rank rank) const { return of(nodes.node(rank)) == rank; }
};

/// The slices that stand for the whole vector of the nodes' program, as its input and as its
/// output. In place both are the same.
struct Vectors {
  Slice input;
  Slice output;
};

struct Lifted {
  std::vector<OpIndex> told;  // the receives that carried arrival stamps
};

/// Adds the operations of this rank's node by the plan `inner`, for the node's driver. Its input
/// and output become slices of `vectors`; its messages go to the drivers of the other nodes.
/// Messages that carry arrival stamps wait for `stamps_known`.
Lifted lift(const Plan& inner, const Drivers& drivers, const Vectors& vectors,
            const std::vector<OpIndex>& stamps_known, Builder& builder);

}  // namespace latecomer
