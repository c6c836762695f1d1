// Rows that stand for the best of others: their plan is the best one's own.
//
// Auto: whichever program has its ranks leave soonest after the last arrival, by its price for
// the arrivals that are expected. The plan is that program's own.
//
// Cost: that of the program. Use it where it is not known who will be late, or whether anybody
// will. In MPI programs the library's own collective takes part too, and what calls took corrects
// the prices (src/choose/). Where ranks share nodes the row for that competes alone. With a seed
// the chooser draws a row for each call (choose/without_prices.cpp), and there is no plan here.
//
// Fastest: whichever program takes the least time on the network by its cost, for ranks that
// arrive together. The plan is that program's own.
//
// Cost: that of the program. Where ranks share nodes the row for that competes alone. Use it where
// arrivals are balanced and the network's costs are known.
#include <limits>
#include <string>
#include <utility>

#include "algorithms/plans.hpp"
#include "base/error.hpp"
#include "price/candidates.hpp"
#include "price/price.hpp"

namespace latecomer::every {
namespace {

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

const Algorithm& chosen(const Plan& plan) {
  return find_algorithm(plan.problem.collective, plan.algorithm);
}
void build_chosen(const Plan& plan, Builder& builder) { chosen(plan).build(plan, builder); }
void check_chosen(const Plan& plan) {
  throw Error("algorithm", plan.algorithm, "the one that it has chosen");
}
Cost cost_chosen(const Plan& plan) { return cost_of(plan); }

/// The balanced rows compete in the one that stands for them; without arrivals the others have
/// nothing to exploit.
bool competes_in_auto(const Algorithm& row, bool known) {
  return is_candidate(row) && (known || !row.arrival_aware);
}

void fill_automatic(Plan& plan, const Knowledge& knowledge) {
  if (const auto seed = plan.parameters.find(kRandom); seed != plan.parameters.end()) {
    throw Error("algorithm", "auto:random=" + std::to_string(seed->second),
                "one that has a plan of its own: at random, each call gets another algorithm");
  }
  const bool known = !knowledge.arrivals.empty();
  plan = cheapest_plan(
      plan.problem, knowledge, [&](const Algorithm& row) { return competes_in_auto(row, known); },
      [&](const Plan& each) {
        return mean_after_last(each, knowledge.network, knowledge.arrivals, knowledge.placement);
      });
}

bool competes_in_fastest(const Algorithm& row) {
  if (row.lifts) return true;  // without arrivals it chooses among balanced programs
  return !row.arrival_aware && !row.stands_for_others;
}

void fill_fastest(Plan& plan, const Knowledge& knowledge) {
  const Network& network = knowledge.network;
  Knowledge balanced{{}, network};
  balanced.placement = knowledge.placement;
  balanced.telemetry = knowledge.telemetry;  // of plans among nodes, too
  plan = cheapest_plan(plan.problem, balanced, competes_in_fastest, [&](const Plan& each) {
    return balanced_time(each, network, knowledge.placement);
  });
}

}  // namespace

LATECOMER_ROW(every, auto) {
  return {.arrival_aware = true,
          .stands_for_others = true,
          .scratch_messages = 3,
          .parameters = {{kRandom,
                          "a seed: each call gets an algorithm at random, for tests; default: none",
                          1,
                          {}}},
          .cost_formula = "that of the program that is over soonest after the last arrival",
          .source = "the prices of the others",
          .fill_plan = fill_automatic,
          .build = build_chosen,
          .check = check_chosen,
          .cost = cost_chosen};
}
LATECOMER_ROW(every, fastest) {
  return {.stands_for_others = true,
          .scratch_messages = 3,
          .cost_formula = "that of the program with the least time on the network",
          .source = "the costs of the others",
          .fill_plan = fill_fastest,
          .build = build_chosen,
          .check = check_chosen,
          .cost = cost_chosen};
}

}  // namespace latecomer::every
