// Rows that stand for the best of others: their plan is the best one's own.
#pragma once

#include <limits>
#include <utility>

#include "algorithms/plans.hpp"
#include "base/error.hpp"
#include "price/candidates.hpp"
#include "price/on_nodes.hpp"
#include "price/price.hpp"

namespace latecomer {

/// Returns the plan with the least price of the rows that compete; of equal ones the last.
template <class Competes, class Price>
[[nodiscard]] Plan cheapest_plan(const Problem& problem, const Knowledge& knowledge,
                                 const Competes& competes, const Price& price) {
  Plan best;
  Seconds least = std::numeric_limits<Seconds>::infinity();
  for (const Algorithm& row : registry(problem.collective)) {
    const bool candidate = row.kind == Kind::program && competes(row) &&
                           may_pay(row, problem, knowledge.network, knowledge.placement);
    if (!candidate) continue;
    for (const Parameters& way :
         ways(row, problem, knowledge.network, knowledge.placement, !knowledge.arrivals.empty())) {
      Plan plan = make_plan(row, problem, way, knowledge);
      if (plan == best) continue;  // nodes may be asked for what they choose by themselves
      const Seconds costs = price(plan);
      if (costs > least || (!way.empty() && costs == least)) continue;
      best = std::move(plan);
      least = costs;
    }
  }
  return best;
}

// The functions of such a row: they call those of the row that the plan is for.

inline const Algorithm& chosen(const Plan& plan) {
  return find_algorithm(plan.problem.collective, plan.algorithm);
}
inline void build_chosen(const Plan& plan, Builder& builder) { chosen(plan).build(plan, builder); }
inline void check_chosen(const Plan& plan) {
  throw Error("algorithm", plan.algorithm, "the one that it has chosen");
}
inline Cost cost_chosen(const Plan& plan) { return cost_of(plan); }

}  // namespace latecomer
