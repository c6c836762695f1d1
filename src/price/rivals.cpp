#include "price/rivals.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "algorithms/plans.hpp"
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
  std::erase_if(all, [](const Rival& each) { return !each.choice.parameters.empty(); });
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
  if (find_algorithm(fastest.problem.collective, fastest.algorithm).lifts) {
    balanced.placement.clear();
    return rivals_among_nodes(fastest, balanced);
  }
  const Network& network = knowledge.network;
  Network doubted = network;
  doubted.exchange = std::max(network.exchange, kExchange);
  const Seconds least = balanced_time(fastest, network);
  Knowledge doubting = balanced;
  doubting.network = doubted;
  std::vector<std::pair<Seconds, Rival>> found;
  for (const Algorithm& row : registry(fastest.problem.collective)) {
    const bool other = row.kind == Kind::program && !row.arrival_aware && !row.stands_for_others;
    if (!other || !may_pay(row, fastest.problem, network)) continue;
    const Plan plan = make_plan(row, fastest.problem, {}, doubting);
    const bool same = row.name == fastest.algorithm;
    if (same && plan.parameters == fastest.parameters) continue;
    if (balanced_time(plan, network) > kDoubt * least) continue;
    Rival rival{{&row, {}}, std::string(row.name)};
    if (same) rival = {{&row, plan.parameters}, rival.name + "'"};
    found.emplace_back(balanced_time(plan, doubted), std::move(rival));
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<Rival> all;
  for (std::size_t i = 0; i < found.size() && all.size() < kMost; ++i) {
    const bool alike = i > 0 && found[i].first == found[i - 1].first;  // one algorithm, two names
    if (!alike) all.push_back(std::move(found[i].second));
  }
  return all;
}

}  // namespace latecomer
