#include "price/price.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "algorithms/nodes/cut.hpp"
#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "graph/activities.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

constexpr Seconds kLongest = 1e5;  // in a replay: nobody expects a rank to be later

/// The seconds that a burst saves the plan's links, which are rested.
Seconds saved(const Plan& plan, const Network& network) {
  return network.saved(cost_of(plan).sent * plan.problem.element_bytes);
}

bool has_few_operations(const Plan& plan) {
  return plan.problem.ranks * operations_on_node(plan) <= kMaxReplayedOnNodes;
}

std::vector<Seconds> since_first(const std::vector<Seconds>& arrivals) {
  const Seconds first = std::ranges::min(arrivals);
  std::vector<Seconds> since;
  for (const Seconds arrival : arrivals) since.push_back(std::min(arrival - first, kLongest));
  return since;
}

/// The network of a rank that shares its link: all ranks of the fullest node send at once.
Network shared_link(Network network, const Placement& placement, Rank ranks) {
  if (shares_nodes(placement)) network.beta *= Nodes(placement, ranks).most();
  return network;
}

/// The time from the last arrival to the last exit of an all-reduce among nodes, and the mean of
/// other collectives, or where a replay would be too long.
Seconds after_last_among(const Plan& among, const Network& network,
                         const std::vector<Seconds>& arrivals) {
  const bool last = among.problem.collective == Collective::allreduce && !arrivals.empty() &&
                    among.problem.ranks > 1 && replayable(among, network);
  if (!last) return mean_after_last(among, network, arrivals);
  const std::vector<Seconds> since = since_first(arrivals);
  return std::ranges::max(replay(among, network, since)) - std::ranges::max(since);
}

/// The seconds of a plan that uses the memory of nodes, if `among` is the time of its algorithm
/// among the nodes. The work within nodes overlaps with that, but for the first piece. Never less
/// for a longer vector.
Seconds with_local_work(const Plan& plan, Seconds among, const Network& network) {
  const double ranks = Nodes(plan.placement, plan.problem.ranks).most();
  const auto bytes = static_cast<double>(plan.problem.bytes());
  const Seconds combined = (network.local_beta + (ranks - 1) * network.gamma) / ranks;  // per byte
  // Each rank adds its vector and copies the result; all share the memory of the node. To cells it
  // copies its vector, and combines a part of all.
  const bool cells = has_cells(plan);
  const Seconds adds = cells ? network.local_beta + (ranks - 1) / ranks * network.gamma : combined;
  const Seconds each =
      std::max(adds + network.local_beta, (cells ? 3 : 2) * ranks * network.memory);
  const double first =
      std::min(bytes, std::max<double>(kShortestPiece, bytes / static_cast<double>(kMostPieces)));
  const Seconds slices = (ranks - 1) * combined * std::min<double>(bytes, kShortestSlice);
  return std::max(among, each * bytes) + each * first + slices + 2 * network.local_alpha;
}

/// The price of a plan on nodes without a replay of all ranks.
Seconds unreplayed_on_nodes(const Plan& plan, Network network,
                            const std::vector<Seconds>& arrivals) {
  if (plan.inner.empty()) return with_local_work(plan, 0, network);
  network.per_node = 1;
  const Plan& first = plan.inner.front();
  const Seconds waves = static_cast<Seconds>(plan.problem.count) /
                        static_cast<Seconds>(std::max<Count>(1, first.problem.count));
  const Seconds balanced = balanced_time(first, network);
  const Nodes nodes(plan.placement, plan.problem.ranks);
  const Seconds among = after_last_among(first, network, arrivals_of_nodes(plan, nodes, arrivals));
  return with_local_work(plan, among + (waves - 1) * balanced, network);
}

}  // namespace

bool replayable(const Plan& plan, const Network& network) {
  return plan.problem.ranks <= kMaxReplayedRanks && has_few_operations(plan) &&
         plan.problem.ranks * cost_of(plan).rounds <= kMaxReplayed &&
         balanced_time(plan, network) < kLongest;
}

Seconds balanced_time(const Plan& plan, const Network& network, const Placement& placement) {
  if (plan.placement.empty()) {
    const Network own = shared_link(network, placement, plan.problem.ranks);
    return hockney_time(plan.problem, cost_of(plan), own) - saved(plan, network);
  }
  const Seconds among = hockney_time(plan.problem, cost_of(plan), network) - saved(plan, network);
  return with_local_work(plan, among, network);
}

bool may_pay(const Algorithm& row, const Problem& problem, const Network& network,
             const Placement& placement) {
  if (!competes_on(row, placement)) return false;
  const bool priced = !row.arrival_aware || row.mean_after_last != nullptr ||
                      row.stands_for_others || row.lifts || problem.ranks <= kMaxReplayedRanks;
  const Problem asked = row.lifts ? problem_of_nodes(problem, placement) : problem;
  const bool worth = row.worth_planning == nullptr || row.worth_planning(asked, network);
  return priced && worth && accepts(row, problem, nullptr);
}

Replays replays_of(const Plan& plan, const Network& network, const Placement& placement) {
  constexpr Seconds kMade = 0.25e-6;     // an activity of the graph
  constexpr Seconds kServed = 0.1e-6;    // the same in a replay
  constexpr Seconds kDecided = 0.18e-6;  // by a protocol: a round of a rank
  const Placement links = shares_nodes(placement) ? placement : Placement{};
  const Algorithm& row = find_algorithm(plan.problem.collective, plan.algorithm);
  if (row.kind != Kind::protocol && network.jitter == 0) {
    auto all = std::make_shared<const Activities>(
        activities_of(build_programs(plan), network, plan.problem.element_bytes, links));
    const auto size = static_cast<double>(all->size());
    return {[network, all = std::move(all)](const std::vector<Seconds>& arrivals) {
              return serve(*all, since_first(arrivals), network);
            },
            kMade * size, kServed * size};
  }
  SimulationOptions options;
  options.placement = links;
  options.network = network;
  options.element_bytes = plan.problem.element_bytes;
  auto run = [executors = std::make_shared<Executors>(make_executors(plan, network)),
              options](const std::vector<Seconds>& arrivals) mutable {
    options.arrivals = since_first(arrivals);
    return simulate(*executors, options).exits;
  };
  const double rounds = static_cast<double>(1 + cost_of(plan).rounds) * plan.problem.ranks;
  return {std::move(run), 0, kDecided * rounds};
}

std::vector<Seconds> replay(const Plan& plan, const Network& network,
                            const std::vector<Seconds>& arrivals, const Placement& placement) {
  return replays_of(plan, network, placement).exits(arrivals);
}

/// A message takes the longer the more pairs of ranks there are.
Seconds replay_cost(const Plan& plan) {
  if (!has_few_operations(plan)) {
    return plan.inner.empty() ? 0 : replay_cost(plan.inner.front());
  }
  constexpr Seconds kMessage = 1.2e-6;
  const double ranks = plan.problem.ranks;
  constexpr Seconds kOnNode = 1e-6;
  const Seconds on_nodes = kOnNode * ranks * static_cast<double>(operations_on_node(plan));
  return kMessage * (1 + ranks / 64) * ranks * static_cast<double>(1 + cost_of(plan).rounds) +
         on_nodes;
}

Seconds mean_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& arrivals, const Placement& placement) {
  const Algorithm& row = find_algorithm(plan.problem.collective, plan.algorithm);
  if (plan.problem.ranks == 1 || arrivals.empty()) return balanced_time(plan, network, placement);
  const bool own_links = !shares_nodes(placement) || !plan.placement.empty();
  if (row.mean_after_last != nullptr && own_links) {
    const Seconds takes = row.mean_after_last(plan, network, arrivals) - saved(plan, network);
    return plan.placement.empty() ? takes : with_local_work(plan, takes, network);
  }
  if (!replayable(plan, network)) {
    return plan.placement.empty() ? balanced_time(plan, network, placement)
                                  : unreplayed_on_nodes(plan, network, arrivals);
  }
  const std::vector<Seconds> since = since_first(arrivals);
  const std::vector<Seconds> exits = replay(plan, network, since, placement);
  if (!plan.placement.empty() && plan.problem.collective == Collective::allreduce)
    return std::ranges::max(exits) - std::ranges::max(since);
  return mean_exit_after_last(exits, since);
}

Network scaled(Network network, const NetworkParts& logarithms) {
  network.alpha *= exp_of(logarithms[0]);
  network.handshake *= exp_of(logarithms[0]);
  network.beta *= exp_of(logarithms[1]);
  network.gamma *= exp_of(logarithms[2]);
  network.exchange = std::max(1.0, network.exchange * exp_of(logarithms[3]));
  return network;
}

NetworkParts scale_of(const Network& network, const Network& of) {
  const auto logarithm = [](double now, double before) {
    return now > 0 && before > 0 ? log_of(now / before) : 0;
  };
  return {logarithm(network.alpha, of.alpha), logarithm(network.beta, of.beta),
          logarithm(network.gamma, of.gamma), logarithm(network.exchange, of.exchange)};
}

NetworkParts shares_of_price(const Plan& plan, const Network& network, const Placement& placement) {
  constexpr double kStep = 0.01;
  NetworkParts shares{};
  const Seconds price = balanced_time(plan, network, placement);
  if (!(price > 0)) return shares;
  for (std::size_t part = 0; part < shares.size(); ++part) {
    NetworkParts step{};
    step[part] = kStep;
    shares[part] = (balanced_time(plan, scaled(network, step), placement) / price - 1) / kStep;
  }
  return shares;
}

Problem problem_of_nodes(Problem problem, const Placement& placement) {
  if (placement.empty()) return problem;
  const Nodes nodes(placement, problem.ranks);
  if (rooted(problem.collective)) problem.root = nodes.node(problem.root);
  problem.ranks = nodes.count();
  problem.parts.clear();
  return problem;
}

bool by_nodes(Collective collective, const Placement& placement) {
  const auto lifts = [](const Algorithm& row) { return row.lifts && row.kind == Kind::program; };
  return shares_nodes(placement) && std::ranges::any_of(registry(collective), lifts);
}

bool competes_on(const Algorithm& row, const Placement& placement) {
  if (row.lifts) return shares_nodes(placement);
  const bool always = row.stands_for_others || row.kind == Kind::native;
  return always || !by_nodes(row.collective, placement);
}

Parameters same_among(const Plan& plan) {
  const auto among = plan.parameters.find("among");
  return among == plan.parameters.end() ? Parameters{} : Parameters{*among};
}

Count operations_on_node(const Plan& plan) {
  if (plan.placement.empty()) return 0;
  const Count bytes = plan.problem.bytes();
  const Nodes nodes(plan.placement, plan.problem.ranks);
  const Count most = nodes.most();
  const Count waves =
      bytes == 0 ? 1 : std::max<Count>(1, number_of_waves(plan.problem, copies_of(plan, nodes)));
  const auto asked = plan.parameters.find("pieces");
  const Count pieces = waves * (asked == plan.parameters.end() ? 1 : asked->second);
  const Count slices = std::clamp<Count>(bytes / pieces / kShortestSlice, 1, most);
  // Accumulate and await slices, or fill, await and combine cells; final flags, copies, end of use.
  return pieces * (2 * slices + 4 + (has_cells(plan) ? 2 * most : 0));
}

}  // namespace latecomer
