// The broadcast of several blocks on a circulant graph, in as few rounds as there can be: n blocks
// reach P places in n - 1 + ceil(log2 P) rounds, and each place sends and receives at most one
// block a round. Time-reversed it is a reduction.
//
// Place 0 has the blocks. In round i, with k = i mod q and q = ceil(log2 P), place v sends to place
// v + skip_k and receives from place v - skip_k, where skip_q = P and skip_k = ceil(skip_(k+1) /
// 2). Place 0 sends a new block in each round, and the last one in the last q rounds. The other
// places do the same in each phase of q rounds, with blocks whose numbers are higher by q, so a
// schedule has q numbers. A place finds its own in O(log^2 P).
//
// Source: Traeff: Optimal broadcast schedules in logarithmic time with applications to broadcast,
// all-broadcast, reduction and all-reduction, arXiv:2312.11236 (2023); Fast(er) construction of
// round-optimal n-block broadcast schedules, IEEE CLUSTER 2022.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace latecomer {

class CirculantPlace {
 public:
  static constexpr Count kNone = -1;  // no block

  CirculantPlace(Rank places, Count blocks, Rank place);

  [[nodiscard]] Count rounds() const { return blocks_ - 1 + levels_; }
  [[nodiscard]] Count levels() const { return levels_; }
  [[nodiscard]] Count blocks() const { return blocks_; }
  /// The places to which this one sends in a round and from which it receives.
  [[nodiscard]] Rank to(Count round) const { return (place_ + skip(round)) % places_; }
  [[nodiscard]] Rank from(Count round) const { return (place_ - skip(round) + places_) % places_; }
  /// The block that it sends in a round to a place other than 0; kNone: none.
  [[nodiscard]] Count sends(Count round) const { return block(sends_, round); }
  /// The block that it receives; kNone for place 0.
  [[nodiscard]] Count receives(Count round) const { return block(receives_, round); }
  /// A place that would send to place 0 is free in that round. If each of these places sends one of
  /// the blocks that it has by then, place 0 gets back all but the last, each of them once.
  [[nodiscard]] Count returns(Count round) const;

 private:
  [[nodiscard]] Count phased(Count round) const { return round + skipped_; }
  [[nodiscard]] Rank skip(Count round) const {
    return skips_[static_cast<std::size_t>(phased(round) % levels_)];
  }
  [[nodiscard]] Count block(const std::vector<Count>& schedule, Count round) const;

  Rank places_;
  Count blocks_;
  Rank place_;
  std::vector<Rank> skips_;
  Count levels_;
  Count skipped_;  // rounds of the first phase that are left out, so that the last one is complete
  std::vector<Count> receives_;  // the block's number of each round of phase 0, -q to q-1
  std::vector<Count> sends_;
  mutable std::vector<Count> returns_;  // found when asked for
};

}  // namespace latecomer
