// Ranks send their contributions to the owners of the blocks, directly or by way of other ranks.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/owners/ports.hpp"
#include "patterns/bit_rows.hpp"

namespace latecomer::owners {

/// The owner of a block collects the contributions to it: rank b mod P owns block b, whichever
/// ranks are late.
class Contributions {
 public:
  Contributions(Count ranks, Count blocks);

  [[nodiscard]] Rank owner(Count block) const { return static_cast<Rank>(block % ranks_); }
  /// Adds the contributions that are sent in this round, in which no rank has sent anything yet.
  void send(FreePorts& ports, std::vector<Hop>& hops);
  /// The end of a round: one contribution to the block is received. True if it was the last one.
  bool come(Count block);
  /// The end of a round: the rank has the result of one more block.
  void note_result(Rank rank) { --to_receive_[rank]; }

 private:
  void share(Count block);
  void send_to_owners(FreePorts& ports, std::vector<Hop>& hops);
  void send_by_others(FreePorts& ports, std::vector<Hop>& hops);
  [[nodiscard]] Hop hand_over(Rank from, Rank to, Count block);
  void mark_blocks_of(ConstBits receivers);
  [[nodiscard]] Count first_to_send(Rank from) const;
  [[nodiscard]] Rank receiver(Rank from, Count block, const FreePorts& ports) const;
  [[nodiscard]] std::optional<Hop> relay(Rank from, const FreePorts& ports);

  Count ranks_;
  Count margin_;                   // messages that a rank must have less to receive than an owner
  BitRows pending_;                // by rank: blocks whose contribution it still has to send
  BitRows contributors_;           // by block: ranks that still have to send it
  BitRows owned_;                  // by rank
  BitRows received_;               // by rank: contributions in this round
  BitRows open_;                   // one row: blocks whose owner can receive
  std::vector<Count> left_;        // by rank: the number of pending blocks
  std::vector<Count> missing_;     // by block: messages until it is final
  std::vector<Count> to_receive_;  // by rank: contributions to its own blocks, and results
  std::vector<Rank> busiest_;      // ranks, most left first
  std::vector<Count> heaviest_;    // blocks, most missing first
};

}  // namespace latecomer::owners
