// Fastest: whichever program takes the least time on the network by its closed form, for ranks that
// arrive together. The plan is that program's own.
//
// Cost: that of the program. Use it where arrivals are balanced and the network's costs are known.
#include <limits>

#include "algorithms/allreduce/rows.hpp"

namespace latecomer::allreduce {
namespace {

bool competes(const Algorithm& row, const Problem& problem) {
  return row.collective == problem.collective && row.kind == Kind::program && !row.arrival_aware &&
         row.name != "fastest" && accepts(row, problem, nullptr);
}

void complete(Plan& plan, const Knowledge& knowledge) {
  Plan best;
  Seconds least = std::numeric_limits<Seconds>::infinity();
  for (const Algorithm& row : registry()) {
    if (!competes(row, plan.problem)) continue;
    Plan candidate = make_plan(row, plan.problem, {}, {{}, knowledge.network});
    const Seconds time = balanced_time(candidate, knowledge.network);
    if (time > least) continue;
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

Algorithm fastest() {
  return {.name = "fastest",
          .collective = Collective::allreduce,
          .kind = Kind::program,
          .arrival_aware = false,
          .commutative_only = false,
          .scratch_messages = 3,
          .parameters = {},
          .cost_formula = "that of the program with the least time on the network",
          .source = "the closed forms of the others",
          .complete = complete,
          .build = build,
          .cost = cost,
          .time = time};
}

}  // namespace latecomer::allreduce
