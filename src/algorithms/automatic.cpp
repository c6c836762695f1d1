// Auto: whichever program has its ranks leave soonest after the last arrival, by closed forms, for
// the arrivals that are expected. The plan is that program's own.
//
// Cost: that of the program. Use it where it is not known who will be late, or whether anybody
// will. In MPI programs the library's own collective takes part too, and what calls took corrects
// the closed forms (src/choose/).
#include "algorithms/chosen.hpp"
#include "algorithms/common_rows.hpp"

namespace latecomer {
namespace {

/// The balanced rows compete in `fastest`; without arrivals the others have nothing to exploit.
bool competes(const Algorithm& row, bool known) {
  return row.arrival_aware ? known && row.name != "auto" : row.name == "fastest";
}

void complete(Plan& plan, const Knowledge& knowledge) {
  const bool known = !knowledge.arrivals.empty();
  plan = cheapest_plan(
      plan.problem, knowledge, [&](const Algorithm& row) { return competes(row, known); },
      [&](const Plan& each) {
        return mean_after_last(each, knowledge.network, knowledge.arrivals);
      });
}

}  // namespace

Algorithm automatic(Collective collective) {
  return {.name = "auto",
          .collective = collective,
          .kind = Kind::program,
          .arrival_aware = true,
          .commutative_only = false,
          .scratch_messages = 3,
          .parameters = {},
          .cost_formula = "that of the program that is over soonest after the last arrival",
          .source = "the closed forms of the others",
          .complete = complete,
          .build = build_chosen,
          .check = check_chosen,
          .cost = cost_chosen,
          .time = time_chosen};
}

}  // namespace latecomer
