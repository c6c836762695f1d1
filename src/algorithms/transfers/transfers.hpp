// Algorithms that only move data: the messages of all ranks in one list, from which each rank's
// program is written.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/cost.hpp"
#include "schedule/plan.hpp"

namespace latecomer::transfers {

/// One message. In a list each rank finds its own messages in the order of its program; data that a
/// rank sends on it has received earlier in the list.
struct Transfer {
  Rank from = 0;
  Rank to = 0;
  Range range;           // of the vector, or of the order in which the algorithm keeps it
  bool own = false;      // some of it is the sender's own, there from its arrival on
  bool in_turn = false;  // leaves after the sender's message before it

  bool operator==(const Transfer&) const = default;
};
using Transfers = std::vector<Transfer>;

/// The rank at a position of a pattern.
using RankAt = std::function<Rank(Rank position)>;

/// Every rank's part of the vector.
[[nodiscard]] std::vector<Range> parts_of(const Problem& problem);
[[nodiscard]] Count longest_part(const Problem& problem);
/// True if each rank has something to send, so that messages can tell of all.
[[nodiscard]] bool all_have_parts(const Problem& problem);

/// Adds the transfer unless it has no elements.
void add(Transfers& transfers, const Transfer& transfer);
/// Position 0 broadcasts `range` to all positions along a binomial tree, the largest subtree first.
/// `in_turn`: one message after the other, even where a receiver has not arrived.
void add_binomial(Transfers& transfers, Rank ranks, const RankAt& rank_at, Range range,
                  bool in_turn);

/// The way in which the blocks that a scatter left on the ranks are gathered on all of them.
enum class Gathering : std::uint8_t { ring, doubling };
/// Position 0 scatters the vector in `ranks` blocks along a binomial tree, and all positions gather
/// these; a ring leaves out the blocks that a rank has from the tree. Doubling needs a power of
/// two. With a ring, only the messages of position `place` in it are added.
void add_scatter_allgather(Transfers& transfers, Rank ranks, const RankAt& rank_at, Count count,
                           Gathering way, Rank place);
/// The cost of scatter and all-gather for a vector of so many elements.
[[nodiscard]] Cost scatter_allgather_cost(Rank ranks, Count count, Gathering way);

}  // namespace latecomer::transfers
