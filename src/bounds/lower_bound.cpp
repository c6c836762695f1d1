// Each bound is the largest of some times before which the last rank cannot leave. Data that pass
// between nodes pass their ports; data that ranks of one node exchange do not count.
#include "bounds/lower_bound.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/threads.hpp"

namespace latecomer {

double rounds_to_all(std::size_t nodes, Count ports) {
  int rounds = 0;
  const auto all = static_cast<Count>(nodes);
  for (Count reached = 1; reached < all; reached *= 1 + std::min(ports, all)) ++rounds;
  return rounds;
}

namespace {

/// The arrivals of a node's ranks: the node can take part from the first on, and is complete with
/// the last.
struct Node {
  Seconds first = 0;
  Seconds last = 0;
};

/// A call on two nodes or more.
struct Call {
  const Problem& problem;
  const std::vector<Seconds>& arrivals;
  const Network& network;
  std::vector<Node> nodes;
  bool early = false;  // ranks may receive before they arrive

  [[nodiscard]] Seconds last() const { return std::ranges::max(arrivals); }
};

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
  const Problem& problem = call.problem;
  const Count count = problem.parts.empty() ? problem.part(rank).count
                                            : problem.parts[static_cast<std::size_t>(rank)];
  return count * problem.element_bytes;
}

std::vector<Rank> latest_first(const Call& call) {
  std::vector<Rank> ranks(static_cast<std::size_t>(call.problem.ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::ranges::sort(ranks, std::greater<>{}, [&](Rank rank) { return call.arrivals[rank]; });
  return ranks;
}

/// The earliest time at which a node can have all other nodes' parts: those of ranks that arrive at
/// t or later are received after t, and where nothing is received early, all are received after the
/// node's first arrival. `ranks`: the latest first.
Seconds collecting(const Call& call, Rank node, const std::vector<Rank>& ranks) {
  interruption_point();
  Seconds least = call.last();
  Count elsewhere = 0;  // bytes of the parts of other nodes' ranks so far
  for (const Rank rank : ranks) {
    if (call.network.node(rank) != node) elsewhere += part_bytes(call, rank);
    least = std::max(least, call.arrivals[rank] + passing(elsewhere, call.network));
  }
  if (call.early) return least;
  return std::max(least, call.nodes[node].first + passing(elsewhere, call.network));
}

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

Seconds allgather_bound(const Call& call) {
  Seconds least = call.last();
  for (Rank rank = 0; rank < call.problem.ranks; ++rank) {
    const Count bytes = part_bytes(call, rank);
    least = std::max(least, call.arrivals[rank] + telling(bytes, call.nodes.size(), call.network));
  }
  const std::vector<Rank> ranks = latest_first(call);
  for (Rank node = 0; node < static_cast<Rank>(call.nodes.size()); ++node) {
    least = std::max(least, collecting(call, node, ranks));
  }
  return least;
}

/// For data of the root: `sent` is the least time until they have left it, and each other node
/// receives `bytes_of(node)` after its first arrival, unless it may receive early.
template <class BytesOf>
Seconds of_root(const Call& call, Seconds sent, const BytesOf& bytes_of) {
  Seconds least = std::max(call.last(), call.arrivals[call.problem.root] + sent);
  if (call.early) return least;
  for (Rank node = 0; node < static_cast<Rank>(call.nodes.size()); ++node) {
    if (node == call.network.node(call.problem.root)) continue;
    least = std::max(least, call.nodes[node].first + passing(bytes_of(node), call.network));
  }
  return least;
}

Seconds bcast_bound(const Call& call) {
  const Count bytes = call.problem.bytes();
  return of_root(call, telling(bytes, call.nodes.size(), call.network),
                 [bytes](Rank) { return bytes; });
}

Seconds gather_bound(const Call& call) {
  return collecting(call, call.network.node(call.problem.root), latest_first(call));
}

Seconds scatter_bound(const Call& call) {
  const Problem& problem = call.problem;
  const Rank home = call.network.node(problem.root);
  std::vector<Count> parts(call.nodes.size());  // bytes, by node
  for (Rank rank = 0; rank < problem.ranks; ++rank) {
    parts[static_cast<std::size_t>(call.network.node(rank))] += part_bytes(call, rank);
  }
  const Count leaving = problem.bytes() - parts[static_cast<std::size_t>(home)];
  return of_root(call, passing(leaving, call.network),
                 [&](Rank node) { return parts[static_cast<std::size_t>(node)]; });
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

/// The volume bound on the last exit, looking from time `t` on.
Seconds volume_bound(const std::vector<Node>& nodes, Seconds t, Seconds transfer, bool early) {
  const auto all = static_cast<double>(nodes.size());
  Seconds ready = 0;
  double late = 0;
  bool open = early;  // can a late node receive before its last rank comes?
  for (const Node& node : nodes) {
    ready += early ? t : std::max(node.first, t);
    if (node.last < t) continue;
    ++late;
    open = open || node.first < t;
  }
  // The result may first be complete at a late node, which then needs no message: if the others'
  // values were there before its arrival, or if all nodes are late.
  const double vectors = all - 1 + late - (open || late == all ? 1 : 0);
  return (ready + vectors * transfer) / all;
}

Seconds late_data_bound(std::size_t nodes, Seconds transfer, const Network& network) {
  const Seconds rounds = rounds_to_all(nodes, network.ports) * network.alpha;
  return network.ports == 1 ? rounds + transfer : std::max(rounds, network.alpha + transfer);
}

Seconds allreduce_bound(const Call& call) {
  const Network& network = call.network;
  const Count bytes = call.problem.bytes();
  const Seconds transfer =
      network.beta * static_cast<double>(bytes) / static_cast<double>(network.ports);
  const Seconds saved = network.saved(bytes);
  Seconds least =
      call.last() + late_data_bound(call.nodes.size(), std::max(0.0, transfer - saved), network);
  for (const Seconds t : call.arrivals) {
    interruption_point();
    // From any moment on each link passes one burst more than its rate allows.
    const Seconds burst = network.beta * static_cast<double>(network.burst);
    least = std::max(least, volume_bound(call.nodes, t, transfer, call.early) - burst);
  }
  return least;
}

Seconds last_exit_bound(const Call& call) {
  constexpr Seconds (*kBounds[kCollectives])(const Call&) = {
      allgather_bound, allreduce_bound, bcast_bound, gather_bound, reduce_bound, scatter_bound};
  return kBounds[static_cast<std::size_t>(call.problem.collective)](call);
}

/// Ranks that all share one node, as if each had a node of its own. In shared memory nothing starts
/// up, and a rank may combine what it reads.
Network within_a_node(Network network, Collective collective) {
  network.alpha = 0;
  network.beta =
      combines(collective) ? std::min(network.local_beta, network.gamma) : network.local_beta;
  network.burst = 0;
  network.per_node = 1;
  return network;
}

}  // namespace

Seconds least_after_last(const Problem& problem, const std::vector<Seconds>& arrivals,
                         const Network& network, Progress progress) {
  if (problem.ranks == 1 || problem.count == 0) return 0;
  const auto ranks = static_cast<std::size_t>(problem.ranks);
  const std::vector<Seconds> times = arrivals.empty() ? std::vector<Seconds>(ranks) : arrivals;
  const bool early = progress == Progress::background || network.eager_limit > 0;
  const Call call{problem, times, network, nodes_of(times, network), early};
  if (call.nodes.size() == 1) {
    return least_after_last(problem, arrivals, within_a_node(network, problem.collective),
                            progress);
  }
  return std::max(0.0, last_exit_bound(call) - call.last());
}

}  // namespace latecomer
