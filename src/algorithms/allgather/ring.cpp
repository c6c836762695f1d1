// Ring: in each of P-1 rounds every rank hands on the part that it received last.
//
// Cost: (P-1) alpha + (P-1)/P m beta. The bytes are the least any all-gather needs; use it for long
// vectors and balanced arrivals. Parts may differ in length.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), section 3.1; "RING" of Proficz 2021.
#include "algorithms/moving/replay.hpp"
#include "algorithms/moving/store.hpp"
#include "algorithms/row.hpp"

namespace latecomer::allgather {
namespace {

void build(const Plan& plan, Builder& builder) {
  const Rank ranks = plan.problem.ranks;
  const Rank me = builder.me();
  const Rank right = (me + 1) % ranks;
  const Rank left = (me + ranks - 1) % ranks;
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  const auto part = [&](Rank distance) { return parts[(me + ranks - distance) % ranks]; };
  moving::Store store(plan, builder);
  store.keep_own();
  for (Rank round = 0; round + 1 < ranks; ++round) {
    store.send({me, right, part(round), round == 0});
    store.receive(left, part(round + 1));
  }
}

moving::Moves moves(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  moving::Moves all;
  for (Rank round = 0; round + 1 < ranks; ++round) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      const Range part = parts[(rank + ranks - round) % ranks];
      moving::add(all, {rank, (rank + 1) % ranks, part, round == 0});
    }
  }
  return all;
}

Cost cost(const Plan& plan) {
  const Count rounds = plan.problem.ranks - 1;
  return {rounds, rounds * moving::longest_part(plan.problem), 0};
}

/// With parts that differ the longest one is on some link in every round.
Seconds time(const Plan& plan, const Network& network) {
  const Count bytes = moving::longest_part(plan.problem) * plan.problem.element_bytes;
  return (plan.problem.ranks - 1) * network.transfer(bytes);
}

/// Of long lists as if nobody were late, which is never less.
Seconds time_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& arrivals) {
  const Count ranks = plan.problem.ranks;
  if (ranks * ranks > moving::kMostReplayed) return time(plan, network);
  return moving::time_after_last(moves(plan), plan, network, arrivals);
}

}  // namespace

LATECOMER_ROW(allgather, ring) {
  return {.cost_formula = "(P-1) alpha + (P-1)/P m beta",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .build = build,
          .cost = cost,
          .time = time,
          .time_after_last = time_after_last};
}

}  // namespace latecomer::allgather
