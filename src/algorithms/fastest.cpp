// Fastest: whichever program takes the least time on the network by its closed form, for ranks that
// arrive together. The plan is that program's own.
//
// Cost: that of the program. Use it where arrivals are balanced and the network's costs are known.
#include "algorithms/chosen.hpp"
#include "algorithms/common_rows.hpp"

namespace latecomer {
namespace {

bool competes(const Algorithm& row) { return !row.arrival_aware && row.name != "fastest"; }

void complete(Plan& plan, const Knowledge& knowledge) {
  const Network& network = knowledge.network;
  plan = cheapest_plan(plan.problem, {{}, network}, competes,
                       [&](const Plan& each) { return balanced_time(each, network); });
}

}  // namespace

Algorithm fastest(Collective collective) {
  return {.name = "fastest",
          .collective = collective,
          .kind = Kind::program,
          .arrival_aware = false,
          .commutative_only = false,
          .scratch_messages = 3,
          .parameters = {},
          .cost_formula = "that of the program with the least time on the network",
          .source = "the closed forms of the others",
          .complete = complete,
          .build = build_chosen,
          .check = check_chosen,
          .cost = cost_chosen,
          .time = time_chosen};
}

}  // namespace latecomer
