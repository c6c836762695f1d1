#include "schedule/plan.hpp"

#include <algorithm>
#include <numeric>

#include "base/reproducible.hpp"
#include "base/text.hpp"

namespace latecomer {

std::string_view to_string(Progress progress) {
  return progress == Progress::foreground ? "foreground" : "background";
}

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

std::string to_text(const Plan& plan) {
  const Problem& problem = plan.problem;
  TextOut out;
  out << kPlanTitle << "\nalgorithm " << plan.algorithm << "\ncollective "
      << to_string(problem.collective) << "\nranks " << problem.ranks << "\ncount " << problem.count
      << "\nelement-bytes " << problem.element_bytes << "\nroot " << problem.root
      << "\ncommutative " << yes_no(problem.commutative) << "\nin-place "
      << yes_no(problem.in_place) << "\nprogress " << to_string(plan.progress) << '\n';
  if (problem.exact) out << "exact yes\n";
  out.list("parts", problem.parts);
  if (plan.telemetry) out << "telemetry yes\n";
  for (const auto& [parameter, value] : plan.parameters) {
    out << "parameter " << parameter << ' ' << value << '\n';
  }
  out.list("order", plan.order);
  out.list("table", plan.table);
  out.list("placement", plan.placement);
  for (const Plan& inner : plan.inner) out << "inner\n" << to_text(inner);
  out << "end\n";
  return out.take();
}

std::vector<Rank> order_by_arrival(Rank ranks, const std::vector<Seconds>& arrivals) {
  std::vector<Rank> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  if (arrivals.empty()) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](Rank a, Rank b) { return arrivals[a] < arrivals[b]; });
  return order;
}

std::vector<Rank> rotated_order(Rank ranks, Rank first) {
  std::vector<Rank> order;
  for (Rank i = 0; i < ranks; ++i) order.push_back((first + i) % ranks);
  return order;
}

Rank position_of(const Plan& plan, Rank rank) {
  return static_cast<Rank>(std::ranges::find(plan.order, rank) - plan.order.begin());
}

}  // namespace latecomer
