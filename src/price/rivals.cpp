#include "price/rivals.hpp"

#include <algorithm>
#include <utility>

#include "price/price.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kMost = 4;
constexpr double kExchange = 1.5;  // calibrations of links of TCP found 1.2 to 1.8

}  // namespace

std::vector<const Algorithm*> rivals(const Plan& fastest, const Knowledge& knowledge) {
  const Network& network = knowledge.network;
  Network doubted = network;
  doubted.exchange = std::max(network.exchange, kExchange);
  Knowledge balanced = knowledge;
  balanced.arrivals.clear();
  const Seconds least = balanced_time(fastest, network, knowledge.placement);
  std::vector<std::pair<Seconds, const Algorithm*>> found;
  for (const Algorithm& row : registry(fastest.problem.collective)) {
    const bool other = row.kind == Kind::program && !row.arrival_aware && row.name != "fastest" &&
                       row.name != fastest.algorithm;
    if (!other || !may_pay(row, fastest.problem, network, knowledge.placement)) continue;
    const Plan plan = make_plan(row, fastest.problem, {}, balanced);
    if (balanced_time(plan, network, knowledge.placement) > kDoubt * least) continue;
    found.emplace_back(balanced_time(plan, doubted, knowledge.placement), &row);
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<const Algorithm*> rows;
  for (const auto& [price, row] : found) {
    if (rows.size() < kMost) rows.push_back(row);
  }
  return rows;
}

}  // namespace latecomer
