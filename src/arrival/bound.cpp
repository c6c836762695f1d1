#include "arrival/bound.hpp"

#include <algorithm>

namespace latecomer {
namespace {

/// The ranks of one node: it can take part from its first arrival on, and is complete with its
/// last.
struct Node {
  Seconds first = 0;
  Seconds last = 0;
};

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

/// The volume bound on the last exit, looking from time `t` on.
Seconds volume_bound(const std::vector<Node>& nodes, Seconds t, Seconds transfer, bool early) {
  const auto all = static_cast<double>(nodes.size());
  Seconds ready = 0;
  double late = 0;
  for (const Node& node : nodes) {
    ready += early ? t : std::max(node.first, t);
    if (node.last >= t) ++late;
  }
  // The result may first be complete at a late node, which is not missing then: if the others'
  // values came there before its arrival, or if all are late.
  const double vectors = all - 1 + late - (early || late == all ? 1 : 0);
  return (ready + vectors * transfer) / all;
}

/// Rounds until one of `nodes` has told all, if each tells `ports` more in a round.
double rounds_to_all(std::size_t nodes, Count ports) {
  int rounds = 0;
  const auto all = static_cast<Count>(nodes);
  for (Count reached = 1; reached < all; reached *= 1 + std::min(ports, all)) ++rounds;
  return rounds;
}

Seconds late_data_bound(std::size_t nodes, Seconds transfer, const Network& network) {
  const Seconds rounds = rounds_to_all(nodes, network.ports) * network.alpha;
  return network.ports == 1 ? rounds + transfer : std::max(rounds, network.alpha + transfer);
}

/// Ranks that all share one node, as if each had a node of its own.
Network within_a_node(Network network) {
  network.alpha = network.local_alpha;
  network.beta = network.local_beta;
  network.burst = 0;
  network.per_node = 1;
  return network;
}

}  // namespace

Seconds least_after_last(const Problem& problem, const std::vector<Seconds>& arrivals,
                         const Network& network, Progress progress) {
  if (problem.ranks == 1 || problem.count == 0) return 0;
  if (problem.collective != Collective::allreduce) return 0;  // true of all, if weak
  const auto ranks = static_cast<std::size_t>(problem.ranks);
  const std::vector<Seconds> times = arrivals.empty() ? std::vector<Seconds>(ranks) : arrivals;
  const std::vector<Node> nodes = nodes_of(times, network);
  if (nodes.size() == 1) {
    return least_after_last(problem, arrivals, within_a_node(network), progress);
  }
  const Seconds transfer =
      network.beta * static_cast<double>(problem.bytes()) / static_cast<double>(network.ports);
  const bool early = progress == Progress::background || network.eager_limit > 0;
  const Seconds last = *std::max_element(times.begin(), times.end());
  const Seconds saved = network.saved(problem.bytes());
  Seconds least = late_data_bound(nodes.size(), std::max(0.0, transfer - saved), network);
  for (const Seconds t : times) {
    // From any moment on each link passes one burst more than its rate allows.
    const Seconds burst = network.beta * static_cast<double>(network.burst);
    least = std::max(least, volume_bound(nodes, t, transfer, early) - burst - last);
  }
  return least;
}

Seconds least_in_blocks(const Problem& problem, Count blocks, const Network& network) {
  if (problem.ranks == 1 || problem.count == 0) return 0;
  const double rounds = rounds_to_all(static_cast<std::size_t>(problem.ranks), 1);
  const Seconds block = network.alpha + network.beta * static_cast<double>(problem.bytes()) /
                                            static_cast<double>(blocks);
  return (static_cast<double>(blocks - 1) + rounds) * block;
}

}  // namespace latecomer
