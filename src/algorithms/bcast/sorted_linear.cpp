// Sorted linear: a pipelined chain with the root first and the others in the order in which they
// arrive, so that early ranks have the vector, and may leave, before the late ones come.
//
// Cost, S segments: (S+P-2)(alpha + m/S beta) when all arrive together; a rank that comes last gets
// the vector m beta after its arrival. With background progress it finds it in its memory. Use it
// for long vectors. Source: latecomer's own; the order is that of the linear trees of Proficz 2018.
#include <algorithm>

#include "algorithms/bcast/chain.hpp"
#include "algorithms/bcast/rows.hpp"
#include "algorithms/plan_checks.hpp"

namespace latecomer::bcast {
namespace {

void complete(Plan& plan, const Knowledge& knowledge) {
  plan.order = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
  const auto root = std::find(plan.order.begin(), plan.order.end(), plan.problem.root);
  std::rotate(plan.order.begin(), root, root + 1);
  complete_chain(plan, knowledge.network, knowledge.arrivals);
}

}  // namespace

Algorithm sorted_linear() {
  return {.name = "sorted_linear",
          .collective = Collective::bcast,
          .kind = Kind::program,
          .arrival_aware = true,
          .commutative_only = false,
          .scratch_messages = 1,
          .parameters = chain_parameters(),
          .cost_formula = "(S+P-2)(alpha + m/S beta) at zero delay",
          .source = "latecomer",
          .complete = complete,
          .build = build_chain,
          .check = check_root_first,
          .cost = chain_cost,
          .time = chain_time,
          .time_after_last = chain_time_after_last};
}

}  // namespace latecomer::bcast
