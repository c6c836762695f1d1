// Final blocks spread from their owners to all ranks.
#pragma once

#include <vector>

#include "algorithms/owners/ports.hpp"
#include "patterns/bit_rows.hpp"

namespace latecomer::owners {

class Results {
 public:
  Results(Count ranks, Count blocks);

  /// The end of a round: a block is final at its owner; or a rank has received one.
  void finish(Count block, Rank owner);
  void come(Rank rank, Count block);

  /// Adds the results that are sent in this round.
  void send(FreePorts& ports, std::vector<Hop>& hops);

 private:
  void link(Rank from, ConstBits receivers);
  bool find_receiver(Rank from);
  [[nodiscard]] Count rarest(Rank from, Rank to) const;
  /// The rank with fewest blocks in the set whose words are word(0), word(1), ..., or -1.
  template <class WordAt>
  [[nodiscard]] Rank neediest(const WordAt& word) const;

  Count ranks_;
  Count spreading_ = 0;          // final blocks that some rank neither has nor receives
  BitRows results_;              // by rank: final blocks
  BitRows links_;                // by rank: ranks to which it could send a block
  BitRows seen_;                 // one row: receivers that a search has reached
  BitRows taken_;                // one row: receivers that have a sender
  std::vector<Count> held_;      // by block: the number of ranks that have or receive it
  std::vector<Count> complete_;  // by rank: the number of final blocks
  std::vector<Rank> sender_of_;
};

}  // namespace latecomer::owners
