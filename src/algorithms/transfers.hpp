// Algorithms that only move data: the messages of all ranks in one list, from which each rank's
// program is written.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/row.hpp"
#include "schedule/builder.hpp"
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
[[nodiscard]] bool all_have_parts(const Plan& plan);

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

// The vector of a rank that receives it part by part and sends parts on, and the program for a list
// of transfers.

/// For collectives after which the rank has the whole vector: the parts lie in its output, or, with
/// background progress, in scratch, since they may be there before the rank arrives.
class Store {
 public:
  Store(const Plan& plan, Builder& builder);

  /// Copies own data to the output.
  void keep_own();
  /// Copies own data also beside the received parts: one message may hold both.
  void join_own();
  void send(const Transfer& transfer);
  void receive(Rank from, Range range);

 private:
  [[nodiscard]] Slice place(Range range);

  Builder& builder_;
  Count count_;
  Range own_;    // this rank's data before the call
  Slice early_;  // scratch for the whole vector, once it is needed
};

/// Writes this rank's share of the transfers. First it copies the rank's own data to its output, as
/// far as they belong there and no message brings them.
void build(const Transfers& transfers, const Plan& plan, Builder& builder);

/// The same as a row's function `build`, from the row's list of transfers.
template <Transfers (*transfers_of)(const Plan& plan, Rank me)>
void build_of(const Plan& plan, Builder& builder) {
  build(transfers_of(plan, builder.me()), plan, builder);
}

}  // namespace latecomer::transfers
