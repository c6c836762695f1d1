#include "price/rivals.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "price/on_nodes.hpp"
#include "price/price.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kMost = 4;
constexpr double kExchange = 1.5;  // calibrations of links of TCP found 1.2 to 1.8

/// There are none on one node, where nothing runs among nodes, and where memory of nodes cannot be
/// used. Lanes run the same program.
std::vector<Rival> rivals_among_nodes(const Plan& fastest, const Knowledge& among) {
  if (fastest.placement.empty() || fastest.inner.empty()) return {};
  const Algorithm& nodes = find_algorithm(fastest.problem.collective, fastest.algorithm);
  std::vector<Rival> all = rivals(fastest.inner.front(), among);
  for (Rival& each : all) {
    each.choice = parse_choice(nodes.collective,
                               std::string(nodes.name) + ":among=" + std::string(each.name));
  }
  return all;
}

}  // namespace

std::vector<Rival> rivals(const Plan& fastest, const Knowledge& knowledge) {
  Knowledge balanced = knowledge;
  balanced.arrivals.clear();
  if (fastest.algorithm == kNodesRow) {
    balanced.placement.clear();
    return rivals_among_nodes(fastest, balanced);
  }
  const Network& network = knowledge.network;
  Network doubted = network;
  doubted.exchange = std::max(network.exchange, kExchange);
  const Seconds least = balanced_time(fastest, network);
  std::vector<std::pair<Seconds, const Algorithm*>> found;
  for (const Algorithm& row : registry(fastest.problem.collective)) {
    const bool other = row.kind == Kind::program && !row.arrival_aware && row.name != "fastest" &&
                       row.name != fastest.algorithm;
    if (!other || !may_pay(row, fastest.problem, network)) continue;
    const Plan plan = make_plan(row, fastest.problem, {}, balanced);
    if (balanced_time(plan, network) > kDoubt * least) continue;
    found.emplace_back(balanced_time(plan, doubted), &row);
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<Rival> all;
  for (const auto& [price, row] : found) {
    if (all.size() < kMost) all.push_back({{row, {}}, row->name});
  }
  return all;
}

}  // namespace latecomer
