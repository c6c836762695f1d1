// Auto: whichever program has its ranks leave soonest after the last arrival, by closed forms, for
// the arrivals that are expected. The plan is that program's own.
//
// Cost: that of the program. Use it where it is not known who will be late, or whether anybody
// will. In MPI programs the library's own collective takes part too, and what calls took corrects
// the closed forms (src/select/).
#include <limits>

#include "algorithms/allreduce/rows.hpp"

namespace latecomer::allreduce {
namespace {

/// The balanced rows compete in `fastest`.
bool competes(const Algorithm& row, const Plan& plan) {
  const bool candidate = row.arrival_aware ? row.name != "auto" : row.name == "fastest";
  return row.collective == plan.problem.collective && candidate &&
         accepts(row, plan.problem, nullptr);
}

void complete(Plan& plan, const Knowledge& knowledge) {
  Plan best;
  Seconds least = std::numeric_limits<Seconds>::infinity();
  for (const Algorithm& row : registry()) {
    if (!competes(row, plan)) continue;
    if (row.arrival_aware && knowledge.arrivals.empty()) continue;  // nothing to exploit
    Plan candidate = make_plan(row, plan.problem, {}, knowledge);
    const Seconds time = mean_after_last(candidate, knowledge.network, knowledge.arrivals);
    if (time >= least) continue;
    best = std::move(candidate);
    least = time;
  }
  plan = std::move(best);
}

const Algorithm& chosen(const Plan& plan) {
  return find_algorithm(plan.problem.collective, plan.algorithm);
}

void build(const Plan& plan, Builder& builder) { chosen(plan).build(plan, builder); }
Cost cost(const Plan& plan) { return chosen(plan).cost(plan); }
Seconds time(const Plan& plan, const Network& network) { return chosen(plan).time(plan, network); }

}  // namespace

Algorithm automatic() {
  return {.name = "auto",
          .collective = Collective::allreduce,
          .kind = Kind::program,
          .arrival_aware = true,
          .commutative_only = false,
          .scratch_messages = 3,
          .parameters = {},
          .cost_formula = "that of the program that is over soonest after the last arrival",
          .source = "the closed forms of the others",
          .complete = complete,
          .build = build,
          .cost = cost,
          .time = time};
}

}  // namespace latecomer::allreduce
