// Fastest: whichever program takes the least time on the network by its cost, for ranks that
// arrive together. The plan is that program's own.
//
// Cost: that of the program. Where ranks share nodes the row for that competes alone. Use it where
// arrivals are balanced and the network's costs are known.
#include "price/chosen.hpp"

namespace latecomer::every {
namespace {

bool competes(const Algorithm& row) {
  if (row.lifts) return true;  // without arrivals it chooses among balanced programs
  return !row.arrival_aware && !row.stands_for_others;
}

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Network& network = knowledge.network;
  Knowledge balanced{{}, network};
  balanced.placement = knowledge.placement;
  balanced.telemetry = knowledge.telemetry;  // of plans among nodes, too
  plan = cheapest_plan(plan.problem, balanced, competes, [&](const Plan& each) {
    return balanced_time(each, network, knowledge.placement);
  });
}

}  // namespace

LATECOMER_ROW(every, fastest) {
  return {.stands_for_others = true,
          .scratch_messages = 3,
          .cost_formula = "that of the program with the least time on the network",
          .source = "the costs of the others",
          .fill_plan = fill_plan,
          .build = build_chosen,
          .check = check_chosen,
          .cost = cost_chosen};
}

}  // namespace latecomer::every
