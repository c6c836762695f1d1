// The end of a reduction by blocks: rank r has the result of block r, and a binomial tree gathers
// them on the root.
#pragma once

#include "algorithms/subtrees.hpp"
#include "base/network.hpp"
#include "schedule/builder.hpp"

namespace latecomer::reduce {

class BlockGather {
 public:
  explicit BlockGather(const Problem& problem)
      : parted_{Collective::gather, problem.ranks, problem.count, problem.element_bytes,
                problem.root},
        subtrees_(parted_) {}
  BlockGather(const BlockGather&) = delete;
  BlockGather& operator=(const BlockGather&) = delete;

  [[nodiscard]] Range block(Rank rank) const { return parted_.part(rank); }
  /// `own`: the result of this rank's block.
  void build(const Slice& own, Builder& builder) const;

  /// Elements that a rank sends.
  [[nodiscard]] Count sent(Rank rank) const;
  [[nodiscard]] Seconds time(const Network& network) const { return time_below(0, network); }

 private:
  [[nodiscard]] Seconds time_below(Rank position, const Network& network) const;

  Problem parted_;
  Subtrees subtrees_;
};

}  // namespace latecomer::reduce
