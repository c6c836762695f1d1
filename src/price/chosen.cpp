// The rows that stand for the best of others: their plan is the best one's own. Where ranks share
// nodes the row for that competes alone.
#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "price/on_nodes.hpp"
#include "price/price.hpp"

namespace latecomer::every {
namespace {

/// Makes the plan with the least price of the rows that compete; of equal ones the last row's.
template <class Competes>
Plan cheapest_plan(const Problem& problem, const Knowledge& knowledge, const Competes& competes) {
  const Network& network = knowledge.network;
  const Placement& placement = knowledge.placement;
  Plan best;
  Seconds least = std::numeric_limits<Seconds>::infinity();
  for (const Algorithm& row : registry(problem.collective)) {
    const bool candidate = row.kind == Kind::program && competes(row);
    if (!candidate || !may_pay(row, problem, network, placement)) continue;
    for (const Parameters& way :
         ways(row, problem, network, placement, !knowledge.arrivals.empty())) {
      Plan plan = make_plan(row, problem, way, knowledge);
      if (plan == best) continue;  // nodes may be asked for what they choose by themselves
      const Seconds costs = mean_after_last(plan, network, knowledge.arrivals, placement);
      if (costs > least || (!way.empty() && costs == least)) continue;
      best = std::move(plan);
      least = costs;
    }
  }
  return best;
}

/// Of nodes without arrivals, the row chooses among balanced programs.
void fill_fastest(Plan& plan, const Knowledge& knowledge) {
  Knowledge balanced{{}, knowledge.network};
  balanced.placement = knowledge.placement;
  balanced.telemetry = knowledge.telemetry;  // of plans among nodes, too
  plan = cheapest_plan(plan.problem, balanced, [](const Algorithm& row) {
    return row.name == kNodesRow || (!row.arrival_aware && row.name != "fastest");
  });
}

/// The balanced rows compete in `fastest`; without arrivals the others have nothing to exploit.
void fill_auto(Plan& plan, const Knowledge& knowledge) {
  if (const auto seed = plan.parameters.find(kRandom); seed != plan.parameters.end()) {
    throw Error("algorithm", "auto:random=" + std::to_string(seed->second),
                "one that has a plan of its own: at random, each call gets another algorithm");
  }
  const bool known = !knowledge.arrivals.empty();
  plan = cheapest_plan(plan.problem, knowledge, [&](const Algorithm& row) {
    return row.arrival_aware ? known && row.name != "auto" : row.name == "fastest";
  });
}

// The other functions are those of the row that the plan is for.

void build(const Plan& plan, Builder& builder) {
  find_algorithm(plan.problem.collective, plan.algorithm).build(plan, builder);
}
void check(const Plan& plan) {
  throw Error("algorithm", plan.algorithm, "the one that it has chosen");
}
Cost cost(const Plan& plan) { return cost_of(plan); }

}  // namespace

// Fastest: the program that takes the least time by its cost, for ranks that arrive together. Use
// it where arrivals are balanced and the network's costs are known.
LATECOMER_ROW(every, fastest) {
  return {.scratch_messages = 3,
          .cost_formula = "that of the program with the least time on the network",
          .source = "the costs of the others",
          .fill_plan = fill_fastest,
          .build = build,
          .check = check,
          .cost = cost};
}

// Auto: the program whose ranks leave soonest after the last arrival, by its price for the expected
// arrivals. In MPI programs the library's own collective takes part too, and what calls took
// corrects the prices (src/choose/). With a seed the chooser draws a row for each call, and there
// is no plan here.
LATECOMER_ROW(every, auto) {
  return {.arrival_aware = true,
          .scratch_messages = 3,
          .parameters = {{kRandom,
                          "a seed: each call gets an algorithm at random, for tests; default: none",
                          1,
                          {}}},
          .cost_formula = "that of the program that is over soonest after the last arrival",
          .source = "the prices of the others",
          .fill_plan = fill_auto,
          .build = build,
          .check = check,
          .cost = cost};
}

}  // namespace latecomer::every
