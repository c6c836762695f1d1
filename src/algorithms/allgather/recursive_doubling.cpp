// Recursive doubling: in each of log2 P rounds a rank exchanges all parts that it has with the rank
// whose number differs in one bit. Ranks beyond a power of two send their part to a neighbour first
// and receive the vector last.
//
// Cost: log2 P alpha + (P-1)/P m beta, for other P floor(log2 P) + 2 rounds and m beta more. Use it
// for short parts.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), section 3.1.
#include <algorithm>

#include "algorithms/row.hpp"
#include "algorithms/transfers.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allgather {
namespace {

using transfers::Transfers;

/// The parts of the ranks behind core positions [first, last), which follow each other.
Range stretch(const PowerOfTwoGroup& folded, const std::vector<Range>& parts, Rank first,
              Rank last) {
  const auto begin_at = [&](Rank position) {
    const Rank rank = folded.rank(position);
    return folded.is_proxy(rank) ? rank - 1 : rank;
  };
  const Count begin = parts[begin_at(first)].begin;
  return {begin, parts[folded.rank(last - 1)].end() - begin};
}

Transfers transfers_of(const Plan& plan, Rank /*me*/) {
  const Rank ranks = plan.problem.ranks;
  const PowerOfTwoGroup folded(ranks);
  const std::vector<Range> parts = transfers::parts_of(plan.problem);
  Transfers all;
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (folded.is_folded(rank)) transfers::add(all, {rank, rank + 1, parts[rank], true});
  }
  for (Rank bit = 1; bit < folded.core; bit *= 2) {
    for (Rank at = 0; at < folded.core; ++at) {
      const Rank first = at & ~(bit - 1);
      transfers::add(all, {folded.rank(at), folded.rank(at ^ bit),
                           stretch(folded, parts, first, first + bit), true});
    }
  }
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (folded.is_proxy(rank)) transfers::add(all, {rank, rank - 1, {0, plan.problem.count}, true});
  }
  return all;
}

Cost cost(const Plan& plan) {
  const Problem& problem = plan.problem;
  const PowerOfTwoGroup folded(problem.ranks);
  const std::vector<Range> parts = transfers::parts_of(problem);
  Cost cost;
  for (Rank bit = 1; bit < folded.core; bit *= 2) {
    Count longest = 0;
    for (Rank at = 0; at < folded.core; at += bit) {
      longest = std::max(longest, stretch(folded, parts, at, at + bit).count);
    }
    cost = cost + Cost{1, longest, 0, longest};
  }
  if (folded.extra == 0) return cost;
  return cost + Cost{2, transfers::longest_part(problem) + problem.count};
}

}  // namespace

LATECOMER_ROW(allgather, recursive_doubling) {
  return {.cost_formula = "log2 P alpha + (P-1)/P m beta; for other P 2 alpha + m beta more",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .build = transfers::build_of<transfers_of>,
          .cost = cost,
          .informs_all = transfers::all_have_parts};
}

}  // namespace latecomer::allgather
