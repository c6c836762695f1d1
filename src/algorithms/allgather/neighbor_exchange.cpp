// Neighbor exchange: ranks exchange with one neighbour and the other in turn, first their own
// parts, then always the two parts that they received last.
//
// Cost: P/2 alpha + (P-1)/P m beta for even P: half the rounds of the ring. For odd P it is the
// ring. Source: Chen, Zhang, Zhang, Yuan: Performance evaluation of allgather algorithms on
// terascale Linux cluster with fast Ethernet, HPC Asia 2005; "NEX" of Proficz 2021.
#include "algorithms/plans.hpp"
#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"
#include "base/error.hpp"

namespace latecomer::allgather {
namespace {

using transfers::Transfers;

bool odd(const Plan& plan) { return plan.problem.ranks % 2 != 0; }

void fill_plan(Plan& plan, const Knowledge& /*knowledge*/) {
  if (odd(plan)) plan.algorithm = "ring";
}

void check(const Plan& plan) {
  if (odd(plan)) throw Error("ranks", std::to_string(plan.problem.ranks), "an even number");
  if (!plan.order.empty() || !plan.table.empty()) refuse_table(plan, "none, and no order");
}

/// Even ranks exchange with the next rank, then with the previous one; odd ranks the other way
/// round.
Rank partner(Rank rank, Rank round, Rank ranks) {
  const bool up = (rank + round) % 2 == 0;
  return (rank + (up ? 1 : ranks - 1)) % ranks;
}

/// The lower one of the pair of parts that a rank sends in a round from the second one on: its own,
/// then those of the pairs before and behind it in turn, ever farther away; odd ranks in reverse.
Rank pair_sent(Rank rank, Rank round, Rank ranks) {
  const Rank pairs = ranks / 2;
  const Rank behind = round % 2 == 0 ? pairs - round / 2 : (round - 1) / 2;
  const Rank away = rank % 2 == 0 ? behind : pairs - behind;
  return 2 * ((rank / 2 + away) % pairs);
}

transfers::Transfer sent(const std::vector<Range>& parts, Rank rank, Rank round) {
  const auto ranks = static_cast<Rank>(parts.size());
  const Rank to = partner(rank, round, ranks);
  if (round == 0) return {rank, to, parts[rank], true};
  const Rank lower = pair_sent(rank, round, ranks);
  const Range pair{parts[lower].begin, parts[lower + 1].end() - parts[lower].begin};
  return {rank, to, pair, round == 1};
}

Transfers transfers_of(const Plan& plan, Rank me) {
  const Rank ranks = plan.problem.ranks;
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  Transfers all;
  for (Rank round = 0; round < ranks / 2; ++round) {
    transfers::add(all, sent(parts, me, round));
    transfers::add(all, sent(parts, partner(me, round, ranks), round));
  }
  return all;
}

Cost cost(const Plan& plan) {
  const Count longest = transfers::longest_part(plan.problem);
  const Count sent = (plan.problem.ranks - 1) * longest;
  return {plan.problem.ranks / 2, sent, 0, sent};
}

}  // namespace

LATECOMER_ROW(allgather, neighbor_exchange) {
  return {.cost_formula = "P/2 alpha + (P-1)/P m beta; for odd P the ring's",
          .source = "Chen, Zhang, Zhang and Yuan 2005; NEX of Proficz 2021",
          .fill_plan = fill_plan,
          .build = transfers::build_of<transfers_of>,
          .check = check,
          .cost = cost};
}

}  // namespace latecomer::allgather
