#include "bounds/lower_bound.hpp"

#include <algorithm>

#include "base/threads.hpp"
#include "bounds/collectives.hpp"

namespace latecomer {

using namespace bounds;

namespace {

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
  switch (call.problem.collective) {
    case Collective::allgather:
      return allgather_bound(call);
    case Collective::allreduce:
      return allreduce_bound(call);
    case Collective::bcast:
      return bcast_bound(call);
    case Collective::gather:
      return gather_bound(call);
    case Collective::reduce:
      return reduce_bound(call);
    case Collective::scatter:
      return scatter_bound(call);
  }
  return call.last();
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
  const auto ranks = static_cast<std::size_t>(problem.ranks);
  const std::vector<Seconds> times = arrivals.empty() ? std::vector<Seconds>(ranks) : arrivals;
  const bool early = progress == Progress::background || network.eager_limit > 0;
  const Call call{problem, times, network, nodes_of(times, network), early};
  if (call.nodes.size() == 1) {
    return least_after_last(problem, arrivals, within_a_node(network), progress);
  }
  return std::max(0.0, last_exit_bound(call) - call.last());
}

Seconds least_in_blocks(const Problem& problem, Count blocks, const Network& network) {
  if (problem.ranks == 1 || problem.count == 0) return 0;
  const double rounds = rounds_to_all(static_cast<std::size_t>(problem.ranks), 1);
  const Seconds block = network.alpha + network.beta * static_cast<double>(problem.bytes()) /
                                            static_cast<double>(blocks);
  return (static_cast<double>(blocks - 1) + rounds) * block;
}

}  // namespace latecomer
