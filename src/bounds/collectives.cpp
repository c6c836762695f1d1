// Each bound is the largest of some times before which the last rank cannot leave. Data that pass
// between nodes pass their ports; data that ranks of one node exchange do not count.
#include "bounds/collectives.hpp"

#include <algorithm>

#include "base/threads.hpp"

namespace latecomer::bounds {
namespace {

/// The least time for which bytes that pass between nodes occupy a node's ports; zero without
/// bytes. It allows that the ports still have a burst left.
Seconds passing(Count bytes, const Network& network) {
  if (bytes == 0) return 0;
  const auto shaped = static_cast<double>(bytes - std::min(bytes, network.burst));
  return network.alpha + network.beta * shaped / static_cast<double>(network.ports);
}

/// The least time until data that leave one node have reached all of `nodes`: when the last part
/// leaves, two nodes know it, and with one port each their number at most doubles in a round.
Seconds telling(Count bytes, std::size_t nodes, const Network& network) {
  if (bytes == 0) return 0;
  const Seconds rounds = rounds_to_all(nodes, network.ports) * network.alpha;
  const Seconds once = passing(bytes, network);
  return network.ports == 1 ? once - network.alpha + rounds : std::max(rounds, once);
}

Count part_bytes(const Call& call, Rank rank) {
  return call.problem.part(rank).count * call.problem.element_bytes;
}

/// Bytes of the parts of ranks that arrive at `t` or later and are not of the node.
Count parts_elsewhere(const Call& call, Rank node, Seconds t) {
  Count bytes = 0;
  for (Rank rank = 0; rank < call.problem.ranks; ++rank) {
    const bool counts = call.network.node(rank) != node && call.arrivals[rank] >= t;
    if (counts) bytes += part_bytes(call, rank);
  }
  return bytes;
}

Seconds first_of_all(const Call& call) { return std::ranges::min(call.arrivals); }

/// The earliest time at which a node can have all other nodes' parts: those of ranks that arrive at
/// t or later are received after t, and where nothing is received early, all are received after the
/// node's first arrival.
Seconds collecting(const Call& call, Rank node) {
  const auto after = [&](Seconds start, Seconds t) {
    return start + passing(parts_elsewhere(call, node, t), call.network);
  };
  Seconds least = call.last();
  for (const Seconds t : call.arrivals) {
    interruption_point();
    least = std::max(least, after(t, t));
  }
  if (call.early) return least;
  return std::max(least, after(call.nodes[node].first, first_of_all(call)));
}

}  // namespace

Seconds Call::last() const { return std::ranges::max(arrivals); }

std::vector<Node> nodes_of(const std::vector<Seconds>& arrivals, const Network& network) {
  std::vector<Node> nodes;
  for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
    const Seconds arrival = arrivals[rank];
    if (network.node(static_cast<Rank>(rank)) == static_cast<Rank>(nodes.size())) {
      nodes.push_back({arrival, arrival});
    }
    nodes.back().first = std::min(nodes.back().first, arrival);
    nodes.back().last = std::max(nodes.back().last, arrival);
  }
  return nodes;
}

double rounds_to_all(std::size_t nodes, Count ports) {
  int rounds = 0;
  const auto all = static_cast<Count>(nodes);
  for (Count reached = 1; reached < all; reached *= 1 + std::min(ports, all)) ++rounds;
  return rounds;
}

Seconds allgather_bound(const Call& call) {
  Seconds least = call.last();
  for (Rank rank = 0; rank < call.problem.ranks; ++rank) {
    const Count bytes = part_bytes(call, rank);
    least = std::max(least, call.arrivals[rank] + telling(bytes, call.nodes.size(), call.network));
  }
  for (Rank node = 0; node < static_cast<Rank>(call.nodes.size()); ++node) {
    least = std::max(least, collecting(call, node));
  }
  return least;
}

Seconds bcast_bound(const Call& call) {
  const Problem& problem = call.problem;
  const Seconds root = call.arrivals[problem.root];
  Seconds least =
      std::max(call.last(), root + telling(problem.bytes(), call.nodes.size(), call.network));
  if (call.early) return least;
  for (Rank node = 0; node < static_cast<Rank>(call.nodes.size()); ++node) {
    if (node == call.network.node(problem.root)) continue;
    least = std::max(least, call.nodes[node].first + passing(problem.bytes(), call.network));
  }
  return least;
}

Seconds gather_bound(const Call& call) {
  return collecting(call, call.network.node(call.problem.root));
}

Seconds scatter_bound(const Call& call) {
  const Problem& problem = call.problem;
  const Rank home = call.network.node(problem.root);
  const Seconds start = first_of_all(call);
  const Count leaving = parts_elsewhere(call, home, start);
  Seconds least =
      std::max(call.last(), call.arrivals[problem.root] + passing(leaving, call.network));
  if (call.early) return least;
  for (Rank node = 0; node < static_cast<Rank>(call.nodes.size()); ++node) {
    if (node == home) continue;
    const Count bytes = problem.bytes() - parts_elsewhere(call, node, start);
    least = std::max(least, call.nodes[node].first + passing(bytes, call.network));
  }
  return least;
}

Seconds reduce_bound(const Call& call) {
  const Rank home = call.network.node(call.problem.root);
  const Seconds vector = passing(call.problem.bytes(), call.network);
  const auto count = static_cast<Rank>(call.nodes.size());
  Seconds least = call.last();
  for (Rank node = 0; node < count; ++node) {
    if (node != home) least = std::max(least, call.nodes[node].last + vector);
  }
  if (!call.early) least = std::max(least, call.nodes[home].first + vector);
  for (const Seconds t : call.arrivals) {
    interruption_point();
    // The root's own node, and those whose last values are not there before t.
    std::size_t needed = 1;
    for (Rank node = 0; node < count; ++node) {
      if (node != home && call.nodes[node].last >= t) ++needed;
    }
    least = std::max(least, t + rounds_to_all(needed, call.network.ports) * call.network.alpha);
  }
  return least;
}

}  // namespace latecomer::bounds
