// Ranks send their contributions to the owners of the blocks, or by way of others.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/allreduce/early_owners/bit_rows.hpp"
#include "algorithms/allreduce/early_owners/ports.hpp"

namespace latecomer::allreduce {

class Contributions {
 public:
  /// As in make_timetable; the owners outlive it.
  Contributions(const std::vector<Count>& arrivals, const std::vector<Rank>& owners);

  /// Adds this round's hops, in which nothing has been sent yet.
  void send(FreePorts& ports, std::vector<Hop>& hops);
  /// The end of a round: one contribution to the block has come. Whether it was the last one.
  bool come(Count block) { return --missing_[block] == 0; }

 private:
  void share(Count block);
  void compare(Rank rank, const std::vector<Count>& arrivals);
  void send_to_owners(FreePorts& ports, std::vector<Hop>& hops);
  void send_by_others(FreePorts& ports, std::vector<Hop>& hops);
  [[nodiscard]] Hop hand_over(Rank from, Rank to, Count block);
  void mark_blocks_of(ConstBits receivers);
  [[nodiscard]] bool find_takers(Rank from, const FreePorts& ports);
  [[nodiscard]] std::optional<Hop> relay(Rank from);

  const std::vector<Rank>& owners_;
  Count ranks_;
  BitRows pending_;              // by rank: blocks whose contribution it still has to send
  BitRows contributors_;         // by block: who still has to send it
  BitRows owned_;                // by rank
  BitRows received_;             // by rank: contributions in this round
  BitRows open_;                 // one row: blocks whose owner can receive
  BitRows takers_;               // one row: ranks that may be handed a block
  BitRows busy_;                 // one row: ranks that have some left
  BitRows not_later_;            // by rank: the others that come no later than it
  std::vector<Count> left_;      // by rank: how many pending
  std::vector<Count> missing_;   // by block: messages until it is final
  std::vector<Rank> busiest_;    // ranks, most left first
  std::vector<Count> heaviest_;  // blocks, most missing first
};

}  // namespace latecomer::allreduce
