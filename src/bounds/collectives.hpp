// The bounds of the collectives, each the earliest possible last exit, and their common parts.
#pragma once

#include <vector>

#include "base/network.hpp"
#include "schedule/problem.hpp"

namespace latecomer::bounds {

/// The arrivals of a node's ranks: the node can take part from the first on, and is complete with
/// the last.
struct Node {
  Seconds first = 0;
  Seconds last = 0;
};
[[nodiscard]] std::vector<Node> nodes_of(const std::vector<Seconds>& arrivals,
                                         const Network& network);

/// A call on two nodes or more.
struct Call {
  const Problem& problem;
  const std::vector<Seconds>& arrivals;
  const Network& network;
  std::vector<Node> nodes;
  bool early = false;  // ranks may receive before they arrive

  [[nodiscard]] Seconds last() const;
};

/// The number of rounds until one of `nodes` has told all, if each tells `ports` more in a round.
[[nodiscard]] double rounds_to_all(std::size_t nodes, Count ports);

[[nodiscard]] Seconds allgather_bound(const Call& call);
[[nodiscard]] Seconds bcast_bound(const Call& call);
[[nodiscard]] Seconds gather_bound(const Call& call);
[[nodiscard]] Seconds reduce_bound(const Call& call);
[[nodiscard]] Seconds scatter_bound(const Call& call);

}  // namespace latecomer::bounds
