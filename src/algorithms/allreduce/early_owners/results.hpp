// What is final spreads from the owners of the blocks to all.
#pragma once

#include <vector>

#include "algorithms/allreduce/early_owners/bit_rows.hpp"
#include "algorithms/allreduce/early_owners/ports.hpp"

namespace latecomer::allreduce {

class Results {
 public:
  Results(Count ranks, Count blocks);

  /// The end of a round: a block is final, at its owner; or a rank has received one.
  void finish(Count block, Rank owner);
  void come(Rank rank, Count block);
  /// Once all have that: those that all have are forgotten.
  void end_round();

  /// Adds this round's hops. `order`: of ranks, who looks for a receiver first.
  void send(FreePorts& ports, const std::vector<Rank>& order, std::vector<Hop>& hops);

 private:
  [[nodiscard]] bool young(Count block) const { return 2 * held_[block] < ranks_; }
  void multiply(Count block, FreePorts& ports, std::vector<Hop>& hops);
  [[nodiscard]] Rank find_newcomer(Count block, ConstBits receivers) const;
  void match(FreePorts& ports, const std::vector<Rank>& order, std::vector<Hop>& hops);
  void link(Rank from, ConstBits receivers);
  bool find_receiver(Rank from);
  [[nodiscard]] Count rarest(Rank from, Rank to) const;
  [[nodiscard]] Hop give(Rank from, Rank to, Count block);
  /// Of a set of ranks, whose words are word(0), word(1), ..., the one that has fewest blocks, or
  /// -1.
  template <class WordAt>
  [[nodiscard]] Rank neediest(const WordAt& word) const;

  Count ranks_;
  BitRows results_;              // by rank: final blocks
  BitRows holders_;              // by block: who has it or receives it in this round
  BitRows duty_;                 // one row: ranks that have a young block, or receive one
  BitRows before_;               // one row: who has a block when the round begins
  BitRows links_;                // by rank: whom it could send something
  BitRows seen_;                 // one row: receivers that a search has come to
  BitRows taken_;                // one row: receivers that have a sender
  std::vector<Count> held_;      // by block: how many have it or receive it
  std::vector<Count> complete_;  // by rank: how many final blocks
  std::vector<Count> unfinished_;
  std::vector<Rank> sender_of_;
};

}  // namespace latecomer::allreduce
