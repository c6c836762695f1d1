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
#include <algorithm>

#include "algorithms/owners/planning.hpp"
#include "algorithms/row.hpp"
#include "base/partition.hpp"

namespace latecomer::allreduce {
namespace {

using owners::blocks_of;
using owners::Hop;

/// One rank's operations.
class Walk {
 public:
  Walk(const Plan& plan, Builder& builder)
      : builder_(builder),
        parts_(plan.problem.count, blocks_of(plan)),
        combined_(static_cast<std::size_t>(blocks_of(plan)), false),
        landings_(builder.scratch(parts_.longest() * blocks_of(plan))) {}

  /// Carries out this rank's part of a hop. The words that travel along with the first block reach
  /// all ranks, since its result combines all contributions and goes to all.
  void take(const Hop& hop) {
    builder_.piggyback(hop.block == 0);
    if (hop.block == 0) builder_.piggyback_again();
    if (hop.from == builder_.me()) builder_.send_in_turn(hop.to, partial(hop.block, hop.final));
    if (hop.to != builder_.me()) return;
    if (hop.final) return builder_.recv(hop.from, builder_.output(parts_.range(hop.block)));
    contribution(hop.from, hop.block);
  }

 private:
  [[nodiscard]] Slice partial(Count block, bool final) const {
    const Range range = parts_.range(block);
    return final || combined_[block] ? builder_.output(range) : builder_.input(range);
  }

  /// Receives a contribution and combines it in the output.
  void contribution(Rank from, Count block) {
    const Range range = parts_.range(block);
    const Slice own = builder_.input(range);
    const Slice result = builder_.output(range);
    const bool first = !combined_[block];
    combined_[block] = true;
    if (first && !builder_.writable(own) && !builder_.background()) {
      builder_.recv(from, result);
      return builder_.combine(own, result, Into::right);
    }
    const Slice landing = next_landing(range.count);
    builder_.recv(from, landing);
    if (first) builder_.copy(own, result);
    builder_.combine(landing, result, Into::right);
  }

  /// Scratch for a contribution; it is used again only after a vector's worth of contributions.
  Slice next_landing(Count count) {
    const Count slot = landed_++ % static_cast<Count>(combined_.size());
    return landings_.part(slot * parts_.longest(), count);
  }

  Builder& builder_;
  Partition parts_;
  std::vector<bool> combined_;  // by block: its partial result lies in the output
  Slice landings_;
  Count landed_ = 0;
};

void build(const Plan& plan, Builder& builder) {
  builder.pace_by_receivers();
  Walk walk(plan, builder);
  for (const Hop& hop : owners::planned_timetable(plan)->hops) walk.take(hop);
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

/// A call without elements has no messages.
bool informs_all(const Plan& plan) { return plan.problem.count > 0; }

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
          .informs_all = informs_all,
          .worth_planning = owners::worth_planning_owners};
}

}  // namespace latecomer::allreduce
