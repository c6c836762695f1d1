// A binomial tree over any order of the ranks: parts lie one after another by position, so that
// those of a subtree, positions that follow each other, travel as one message.
#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/moving/moves.hpp"
#include "patterns/trees.hpp"

namespace latecomer {

class PackedTree {
 public:
  PackedTree(const Problem& problem, const std::vector<Rank>& order)
      : ranks_(problem.ranks), order_(order), parts_(moving::parts_of(problem)), begin_{0} {
    for (const Rank rank : order) begin_.push_back(begin_.back() + parts_[rank].count);
  }

  [[nodiscard]] Rank rank(Rank position) const { return order_[position]; }
  [[nodiscard]] Rank position(Rank rank) const {
    return static_cast<Rank>(std::find(order_.begin(), order_.end(), rank) - order_.begin());
  }
  [[nodiscard]] TreeNode node(Rank position) const { return binomial_node(ranks_, position); }
  /// The position behind the last one of its subtree.
  [[nodiscard]] Rank end(Rank position) const {
    const Rank size = position == 0 ? ranks_ : position & -position;
    return std::min<Rank>(position + size, ranks_);
  }
  /// Of the vector.
  [[nodiscard]] Range part(Rank position) const { return parts_[order_[position]]; }
  /// Where the subtree's parts lie in the packed order.
  [[nodiscard]] Range packed(Rank position) const { return packed(position, end(position)); }
  [[nodiscard]] Range packed(Rank first, Rank last) const {
    return {begin_[first], begin_[last] - begin_[first]};
  }

 private:
  Rank ranks_;
  const std::vector<Rank>& order_;
  std::vector<Range> parts_;
  std::vector<Count> begin_;  // of each position's part in the packed order
};

}  // namespace latecomer
