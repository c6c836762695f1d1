// Closed forms of all-reduces that are not told along with the algorithm: of two ranks or more.
#pragma once

#include <algorithm>
#include <vector>

#include "base/network.hpp"
#include "patterns/trees.hpp"
#include "schedule/plan.hpp"

namespace latecomer::allreduce {

/// When all arrive together.
[[nodiscard]] Seconds recursive_doubling_time(const Plan& plan, const Network& network);
/// The mean of exit minus last arrival.
[[nodiscard]] Seconds recursive_doubling_after_last(const Plan& plan, const Network& network,
                                                    const std::vector<Seconds>& arrivals);

/// Up one binary tree in post-order, and down again, in segments.
class PostOrderTree {
 public:
  explicit PostOrderTree(Rank ranks)
      : ranks_(ranks),
        tree_([=](Rank rank) { return post_order_node(0, ranks, rank); }, ranks - 1) {}

  /// The children of the busiest rank.
  [[nodiscard]] Count most_children() const { return std::min<Count>(2, ranks_ - 1); }
  /// From the start to the last rank's only segment.
  [[nodiscard]] Seconds one_segment(Seconds transfer, Seconds combine) const {
    return tree_.time_up(transfer, combine) + tree_.time_down(transfer);
  }
  [[nodiscard]] Seconds time(const Problem& problem, Count segments, const Network& network) const;

 private:
  Rank ranks_;
  TreeShape tree_;
};

}  // namespace latecomer::allreduce
