#include "algorithms/nodes/drivers.hpp"

#include <algorithm>

#include "algorithms/nodes/cut.hpp"
#include "algorithms/plan_checks.hpp"

namespace latecomer {
namespace {

/// The root has all that the others wait for, so it drives its node however late it is.
bool root_drives(const Problem& problem) {
  return problem.collective == Collective::bcast || problem.collective == Collective::scatter;
}

}  // namespace

std::vector<Count> choose_drivers(const Problem& problem, const Nodes& nodes, Count lanes,
                                  const std::vector<Seconds>& arrivals, Seconds patience) {
  const auto arrival = [&](Rank rank) {
    return arrivals.empty() ? 0 : arrivals[static_cast<std::size_t>(rank)];
  };
  const auto is_root = [&](Rank rank) {
    return rooted(problem.collective) && rank == problem.root;
  };
  const auto before = [&](Rank a, Rank b) {
    if (root_drives(problem) && is_root(a) != is_root(b)) return is_root(a);
    if (arrival(a) != arrival(b)) return arrival(a) < arrival(b);
    return is_root(a) != is_root(b) ? is_root(a) : a < b;
  };
  const auto number = static_cast<std::size_t>(nodes.count());
  std::vector<Count> drivers(static_cast<std::size_t>(lanes) * number);
  for (Rank node = 0; node < nodes.count(); ++node) {
    std::vector<Rank> ranks = nodes.ranks(node);
    const std::size_t most = std::min(ranks.size(), static_cast<std::size_t>(lanes));
    std::partial_sort(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(most), ranks.end(),
                      before);
    std::size_t there = 1;
    while (there < most && arrival(ranks[there]) <= arrival(ranks[0]) + patience) ++there;
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(lanes); ++lane) {
      drivers[lane * number + static_cast<std::size_t>(node)] = ranks[lane % there];
    }
  }
  return drivers;
}

void check_drivers(const Plan& plan, const Nodes& nodes) {
  if (static_cast<Count>(plan.table.size()) != lanes_of(plan) * nodes.count()) {
    refuse_table(plan, "one rank a node and lane");
  }
  for (std::size_t i = 0; i < plan.table.size(); ++i) {
    const auto node = static_cast<Rank>(i % static_cast<std::size_t>(nodes.count()));
    const auto& ranks = nodes.ranks(node);
    const Count driver = plan.table[i];
    if (std::find(ranks.begin(), ranks.end(), driver) == ranks.end()) {
      refuse_table(plan, "of each node one of its ranks");
    }
    const bool of_root = root_drives(plan.problem) && node == nodes.node(plan.problem.root);
    if (of_root && driver != plan.problem.root) refuse_table(plan, "the root for its node");
  }
}

std::vector<Seconds> arrivals_of_nodes(const Plan& plan, const Nodes& nodes,
                                       const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return {};
  std::vector<Seconds> of_nodes;
  const auto arrival = [&](Count rank) { return arrivals[static_cast<std::size_t>(rank)]; };
  for (Rank node = 0; node < nodes.count(); ++node) {
    Seconds at = arrival(plan.table[static_cast<std::size_t>(node)]);
    if (!root_drives(plan.problem)) {
      for (const Rank rank : nodes.ranks(node)) at = std::max(at, arrival(rank));
    }
    of_nodes.push_back(at);
  }
  return of_nodes;
}

}  // namespace latecomer
