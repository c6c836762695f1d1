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

  /// Adds this round's hops.
  void send(FreePorts& ports, std::vector<Hop>& hops);

 private:
  void link(Rank from, ConstBits receivers);
  bool find_receiver(Rank from);
  [[nodiscard]] Count rarest(Rank from, Rank to) const;
  /// Of a set of ranks, whose words are word(0), word(1), ..., the one that has fewest blocks, or
  /// -1.
  template <class WordAt>
  [[nodiscard]] Rank neediest(const WordAt& word) const;

  Count ranks_;
  Count spreading_ = 0;          // final blocks that not all have or receive
  BitRows results_;              // by rank: final blocks
  BitRows links_;                // by rank: whom it could send something
  BitRows seen_;                 // one row: receivers that a search has come to
  BitRows taken_;                // one row: receivers that have a sender
  std::vector<Count> held_;      // by block: how many have it or receive it
  std::vector<Count> complete_;  // by rank: how many final blocks
  std::vector<Rank> sender_of_;
};

}  // namespace latecomer::allreduce
