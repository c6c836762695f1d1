// Early owners: each block of the vector has an owner, which combines the contributions of all
// ranks; the result spreads from there. The ranks that have arrived do both while others still
// compute: where the owner of a block is absent, they combine the block among themselves, and the
// owner receives one message when it arrives. After the last arrival little is left to do but to
// combine the last rank's contributions and to spread the results.
//
// A plan is a timetable of rounds in which every rank sends and receives at most one block
// (timetable.cpp). Cost: after one rank that is late by the time of the vector or more, about (K -
// 1 + ceil(log2 P))(alpha + m/K beta), the least that K blocks allow; somewhat more than the ring
// when all arrive together; in between, close to the volume bound of docs/decisions/0011. Source:
// own; one late rank as in StragglAR (Devraj et al. 2025), which it extends to any number of ranks,
// of late ranks and of blocks.

#include "algorithms/allreduce/block_sums.hpp"
#include "algorithms/owners/planning.hpp"
#include "algorithms/row.hpp"
#include "base/partition.hpp"

namespace latecomer::allreduce {
namespace {

using owners::blocks_of;
using owners::Hop;

/// Carries out one rank's part of a hop. The words that travel along with the first block reach all
/// ranks, since its result combines all contributions and goes to all.
void take(const Hop& hop, BlockSums& sums, Builder& builder) {
  builder.piggyback(hop.block == 0);
  if (hop.block == 0) builder.piggyback_again();
  if (hop.from == builder.me()) {
    builder.send_in_turn(hop.to, hop.final ? sums.result(hop.block) : sums.sum(hop.block));
  }
  if (hop.to != builder.me()) return;
  hop.final ? sums.receive_result(hop.from, hop.block)
            : sums.receive_contribution(hop.from, hop.block);
}

void build(const Plan& plan, Builder& builder) {
  builder.pace_by_receivers();
  BlockSums sums(plan.problem.count, blocks_of(plan), blocks_of(plan), builder);
  for (const Hop& hop : owners::planned_timetable(plan)->hops) take(hop, sums, builder);
}

/// An upper bound, since messages do not wait for the end of a round.
Cost cost(const Plan& plan) {
  const Count rounds = owners::balanced_rounds(plan);
  const Count longest = Partition(plan.problem.count, blocks_of(plan)).longest();
  return {rounds, rounds * longest, longest, 0, true};
}

Seconds mean_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& /*arrivals*/) {
  return owners::planned_time(plan, network);
}

}  // namespace

LATECOMER_ROW(allreduce, early_owners) {
  return {.arrival_aware = true,
          .commutative_only = true,
          .scratch_messages = 2,
          .parameters = {{"blocks",
                          "of the vector, at most 4096; default: by cost",
                          1,
                          {},
                          false,
                          TakenOver::in_proportion}},
          .cost_formula = "(K - 1 + ceil(log2 P))(alpha + m/K beta) after one late rank",
          .source = "own; one late rank as in Devraj et al. 2025",
          .fill_plan = owners::plan_early_owners,
          .build = build,
          .check = owners::check_early_owners,
          .cost = cost,
          .mean_after_last = mean_after_last,
          .informs_all = informs_unless_empty,
          .worth_planning = owners::worth_planning_owners};
}

}  // namespace latecomer::allreduce
