// Auto: whichever program has its ranks leave soonest after the last arrival, by its price for
// the arrivals that are expected. The plan is that program's own.
//
// Cost: that of the program. Use it where it is not known who will be late, or whether anybody
// will. In MPI programs the library's own collective takes part too, and what calls took corrects
// the prices (src/choose/). Where ranks share nodes the row for that competes alone. With a seed
// the chooser draws a row for each call (choose/without_prices.cpp), and there is no plan here.
#include <string>

#include "price/chosen.hpp"

namespace latecomer::every {
namespace {

/// The balanced rows compete in the one that stands for them; without arrivals the others have
/// nothing to exploit.
bool competes(const Algorithm& row, bool known) {
  return is_candidate(row) && (known || !row.arrival_aware);
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  if (const auto seed = plan.parameters.find(kRandom); seed != plan.parameters.end()) {
    throw Error("algorithm", "auto:random=" + std::to_string(seed->second),
                "one that has a plan of its own: at random, each call gets another algorithm");
  }
  const bool known = !knowledge.arrivals.empty();
  plan = cheapest_plan(
      plan.problem, knowledge, [&](const Algorithm& row) { return competes(row, known); },
      [&](const Plan& each) {
        return mean_after_last(each, knowledge.network, knowledge.arrivals, knowledge.placement);
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
          .fill_plan = fill_plan,
          .build = build_chosen,
          .check = check_chosen,
          .cost = cost_chosen};
}

}  // namespace latecomer::every
