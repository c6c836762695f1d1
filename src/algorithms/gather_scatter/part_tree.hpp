// A binomial tree along which parts of a vector are gathered or scattered. The ranks have any order
// in it; the parts of a subtree, whose positions follow each other, travel as one message, packed
// one after another by position.
#pragma once

#include <vector>

#include "algorithms/row.hpp"
#include "patterns/trees.hpp"
#include "schedule/builder.hpp"

namespace latecomer {

class PartTree {
 public:
  /// `order`: the ranks by position, the root first. `parted`: the problem that divides the vector
  /// into parts.
  PartTree(const Problem& parted, const std::vector<Rank>& order);

  [[nodiscard]] Rank rank(Rank position) const { return order_[position]; }
  [[nodiscard]] Rank position(Rank rank) const;
  [[nodiscard]] TreeNode node(Rank position) const { return binomial_node(ranks(), position); }
  /// The number of elements in the subtree's parts.
  [[nodiscard]] Count elements(Rank position) const;

  /// Writes one rank's operations of a gather: `own` is its part, and the root's output gets the
  /// vector. A rank receives from its children in the order of their numbers in `ready`; where it
  /// is empty, from the smallest subtree first.
  void gather(const Slice& own, const std::vector<Count>& ready, Builder& builder) const;
  /// Writes one rank's operations of a scatter of the root's input. A rank serves its children in
  /// turn, the largest subtree first.
  void scatter(Builder& builder) const;
  [[nodiscard]] Cost cost() const;

 private:
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(order_.size()); }
  /// The position behind the last one of the subtree.
  [[nodiscard]] Rank end(Rank position) const;
  /// The place of the subtree's parts among those of the subtree of `above`.
  [[nodiscard]] Range within(Rank above, Rank position) const;
  /// The subtree's parts as stretches of the vector, each as long as possible, in packed order.
  [[nodiscard]] std::vector<Range> stretches(Rank position) const;

  std::vector<Rank> order_;
  std::vector<Range> parts_;  // of the vector, by position
  std::vector<Count> begin_;  // of each position's part in the packed order
};

}  // namespace latecomer
