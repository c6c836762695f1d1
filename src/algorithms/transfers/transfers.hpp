// Algorithms that only move data, as the messages of all ranks in one list, from which each rank's
// program is written.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/cost.hpp"
#include "schedule/plan.hpp"

namespace latecomer::transfers {

/// One message. In a list of them each rank finds its own in the order of its program, and what a
/// rank hands on it received earlier in the list.
struct Transfer {
  Rank from = 0;
  Rank to = 0;
  Range range;           // of the vector, or of the order in which the algorithm keeps it
  bool own = false;      // some of it is the sender's own, which has it from its arrival on
  bool in_turn = false;  // leaves after the sender's message before it

  bool operator==(const Transfer&) const = default;
};
using Transfers = std::vector<Transfer>;

/// Which rank stands at a position of a pattern.
using RankAt = std::function<Rank(Rank position)>;

/// Every rank's part of the vector.
[[nodiscard]] std::vector<Range> parts_of(const Problem& problem);
[[nodiscard]] Count longest_part(const Problem& problem);
/// Whether each rank has something to send, so that messages can tell of all.
[[nodiscard]] bool all_have_parts(const Problem& problem);

/// Leaves out what has no elements.
void add(Transfers& transfers, const Transfer& transfer);
/// Position 0 hands `range` to all positions along a binomial tree, the largest subtree first.
/// `in_turn`: also where a receiver is not there yet.
void add_binomial(Transfers& transfers, Rank ranks, const RankAt& rank_at, Range range,
                  bool in_turn);

/// How the blocks that a scatter left on all ranks come together everywhere.
enum class Gathering : std::uint8_t { ring, doubling };
/// Position 0 hands the vector out in `ranks` blocks along a binomial tree, and these are gathered
/// everywhere, a ring leaving out what a rank has from the tree. Doubling: a power of two.
/// Of the ring it adds only what position `place` sends and receives.
void add_scatter_allgather(Transfers& transfers, Rank ranks, const RankAt& rank_at, Count count,
                           Gathering way, Rank place);
/// The cost of both, of a vector of so many elements.
[[nodiscard]] Cost scatter_allgather_cost(Rank ranks, Count count, Gathering way);

}  // namespace latecomer::transfers
