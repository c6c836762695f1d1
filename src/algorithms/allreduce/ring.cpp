// Ring: each rank owns one block; P-1 rounds reduce the blocks around the ring, P-1 pass them on.
//
// Cost: 2(P-1) alpha + 2(P-1)/P m beta + (P-1)/P m gamma. The bytes are the least any all-reduce
// needs when all ranks arrive together; use it for long vectors and balanced arrivals.
// Source: Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations,
// J. Parallel Distrib. Comput. 69 (2009); "ring" of Proficz 2018.
#include "algorithms/allreduce/ring_walk.hpp"
#include "algorithms/row.hpp"

namespace latecomer::allreduce {
namespace {

void fill_plan(Plan& plan, const Knowledge& /*knowledge*/) {
  plan.order = order_by_arrival(plan.problem.ranks, {});
  plan.table = even_starts(plan.problem.ranks, plan.problem.ranks);
}

}  // namespace

LATECOMER_ROW(allreduce, ring) {
  return {.commutative_only = true,
          .cost_formula = "2(P-1) alpha + 2(P-1)/P m beta + (P-1)/P m gamma",
          .source = "Patarasuk and Yuan 2009",
          .fill_plan = fill_plan,
          .build = build_ring_walk,
          .check = check_ring_walk,
          .cost = ring_walk_cost};
}

}  // namespace latecomer::allreduce
