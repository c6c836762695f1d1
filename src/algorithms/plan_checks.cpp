#include "algorithms/plan_checks.hpp"

#include <algorithm>

#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "patterns/pipeline.hpp"

namespace latecomer {
namespace {

constexpr Count kMostPerRank = 64;  // segments that rows give themselves, whatever the vector

void check_has_order(const Plan& plan) {
  if (!plan.order.empty()) return;
  throw Error("order", "none", "that of the ranks, for " + plan.algorithm);
}

void check_place_of_root(const Plan& plan, Rank found) {
  if (found == plan.problem.root) return;
  throw Error("order", "one that has rank " + std::to_string(found) + " in the root's place",
              "one that has rank " + std::to_string(plan.problem.root) + " there");
}

/// Throws Error unless all parameters are there (for one rank there are no factors) and the
/// segments are few enough.
void check_parameters(const Algorithm& row, const Plan& plan) {
  for (const Parameter& parameter : row.parameters) {
    const bool needed = !parameter.factors && parameter.name != "progress";
    if (needed && !plan.parameters.contains(parameter.name)) {
      throw Error("parameters of " + plan.algorithm, std::to_string(plan.parameters.size()),
                  "one more: " + std::string(parameter.name));
    }
  }
  const auto segments = plan.parameters.find("segments");
  if (segments == plan.parameters.end()) return;
  const Count most = std::max(kMostPerRank * plan.problem.ranks, max_segments(plan.problem.count));
  if (segments->second > most) {
    throw Error("segments", std::to_string(segments->second), "at most " + std::to_string(most));
  }
}

}  // namespace

void refuse_table(const Plan& plan, const std::string& remedy) {
  throw Error("table of " + plan.algorithm, std::to_string(plan.table.size()) + " numbers", remedy);
}

void check_ordered(const Plan& plan) {
  check_has_order(plan);
  if (!plan.table.empty()) refuse_table(plan, "none");
}

void check_root_first(const Plan& plan) {
  check_ordered(plan);
  check_place_of_root(plan, plan.order.front());
}

void check_root_last(const Plan& plan) {
  check_ordered(plan);
  check_place_of_root(plan, plan.order.back());
}

void check_ordered_numbers(const Plan& plan, Count least, Count most) {
  check_has_order(plan);
  const auto usable = [&](Count number) { return number >= least && number <= most; };
  if (plan.table.size() == plan.order.size() && std::ranges::all_of(plan.table, usable)) return;
  refuse_table(plan, "one a rank, from " + std::to_string(least) + " to " + std::to_string(most));
}

void check_plan(const Plan& plan) {
  const Algorithm& row = find_algorithm(plan.problem.collective, plan.algorithm);
  if (row.build == nullptr && row.executor == nullptr) {
    throw Error("algorithm", plan.algorithm, "one that has plans");
  }
  check_accepts(row, plan.problem);
  for (const auto& [name, value] : plan.parameters) check_parameter(row, name, value);
  check_parameters(row, plan);
  if (row.check != nullptr) return row.check(plan);
  if (!plan.order.empty()) throw Error("order", "one", "none, for " + plan.algorithm);
  if (!plan.table.empty()) refuse_table(plan, "none");
}

}  // namespace latecomer
