#include "schedule/plan.hpp"

#include <algorithm>
#include <numeric>

#include "base/reproducible.hpp"

namespace latecomer {

std::uint64_t hash(const Plan& plan) {
  Plan shared = plan;
  shared.problem.in_place = false;
  return fnv1a(to_text(shared));
}

std::string in_words(const Plan& plan) {
  const Problem& problem = plan.problem;
  std::string text(to_string(problem.collective));
  text += " of " + std::to_string(problem.count);
  if (problem.element_bytes != 1) text += " x " + std::to_string(problem.element_bytes);
  text += " bytes";
  if (rooted(problem.collective)) text += " with root " + std::to_string(problem.root);
  return text + " by " + plan.algorithm;
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
