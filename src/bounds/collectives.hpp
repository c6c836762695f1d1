// What the bounds of the collectives are made of, and each of them: the earliest possible last
// exit.
#pragma once

#include <vector>

#include "base/network.hpp"
#include "schedule/problem.hpp"

namespace latecomer::bounds {

/// The ranks of one node: it can take part from its first arrival on, and is complete with its
/// last.
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

/// Rounds until one of `nodes` has told all, if each tells `ports` more in a round.
[[nodiscard]] double rounds_to_all(std::size_t nodes, Count ports);

[[nodiscard]] Seconds allgather_bound(const Call& call);
[[nodiscard]] Seconds bcast_bound(const Call& call);
[[nodiscard]] Seconds gather_bound(const Call& call);
[[nodiscard]] Seconds reduce_bound(const Call& call);
[[nodiscard]] Seconds scatter_bound(const Call& call);

}  // namespace latecomer::bounds
