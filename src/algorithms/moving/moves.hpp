// Algorithms that only move data, as the messages of all ranks in one list: what their programs are
// written from, and what tells when ranks leave.
#pragma once

#include <functional>
#include <vector>

#include "base/network.hpp"
#include "schedule/plan.hpp"

namespace latecomer::moving {

/// One message. In a list of them each rank finds its own in the order of its program, and what a
/// rank hands on it received earlier in the list.
struct Move {
  Rank from = 0;
  Rank to = 0;
  Range range;           // of the vector, or of the order in which the algorithm keeps it
  bool own = false;      // some of it is the sender's own, which has it from its arrival on
  bool in_turn = false;  // leaves after the sender's message before it

  bool operator==(const Move&) const = default;
};
using Moves = std::vector<Move>;

/// Of whom a row lists the moves: of one rank those that it sends and receives, perhaps with
/// others, or those of all.
inline constexpr Rank kEverybody = -1;

/// Which rank stands at a position of a pattern.
using RankAt = std::function<Rank(Rank position)>;

/// Every rank's part of the vector.
[[nodiscard]] std::vector<Range> parts_of(const Problem& problem);
[[nodiscard]] Count longest_part(const Problem& problem);
/// Whether each rank has something to send, so that messages can tell of all.
[[nodiscard]] bool all_have_parts(const Problem& problem);

// `fill_plan` of rows in which the root serves one rank after another.
void fill_rank_order(Plan& plan, const Knowledge& knowledge);
void fill_sorted_order(Plan& plan, const Knowledge& knowledge);  // as they are to arrive

/// Leaves out what has no elements.
void add(Moves& moves, const Move& move);
/// Position 0 hands `range` to all positions along a binomial tree, the largest subtree first.
/// `in_turn`: also where a receiver is not there yet.
void add_binomial(Moves& moves, Rank ranks, const RankAt& rank_at, Range range, bool in_turn);

/// How the blocks that a scatter left on all ranks come together everywhere.
enum class Gathering : std::uint8_t { ring, doubling };
/// Position 0 hands the vector out in `ranks` blocks along a binomial tree, and these are gathered
/// everywhere, a ring leaving out what a rank has from the tree. Doubling: a power of two.
/// `place`: of the ring only what this position sends and receives.
void add_scatter_allgather(Moves& moves, Rank ranks, const RankAt& rank_at, Count count,
                           Gathering way, Rank place = kEverybody);
/// How many moves that is at most.
[[nodiscard]] Count scatter_allgather_moves(Rank ranks, Gathering way);
/// When all arrive together.
[[nodiscard]] Seconds scatter_allgather_time(const Problem& problem, const Network& network,
                                             Gathering way);
/// Transfers that follow each other, and elements sent by position 0, which sends most.
struct Work {
  Count rounds = 0;
  Count sent = 0;
};
[[nodiscard]] Work scatter_allgather_work(Rank ranks, Count count, Gathering way);

}  // namespace latecomer::moving
