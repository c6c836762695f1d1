#include "schedule/plan.hpp"

#include <algorithm>
#include <numeric>

#include "base/hash.hpp"

namespace latecomer {

std::uint64_t hash(const Plan& plan) {
  Plan shared = plan;
  shared.problem.in_place = false;
  return fnv1a(to_text(shared));
}

std::vector<Rank> order_by_arrival(Rank ranks, const std::vector<Seconds>& arrivals) {
  std::vector<Rank> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  if (arrivals.empty()) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](Rank a, Rank b) { return arrivals[a] < arrivals[b]; });
  return order;
}

}  // namespace latecomer
