// Trees of ranks whose subtrees are runs of consecutive ranks, so that reducing along them keeps
// operand order. Each rank finds its own place in O(log P).
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// One rank's node in a tree.
struct TreeNode {
  struct Child {
    Rank rank = 0;
    bool left = false;  // its whole subtree lies below this rank, otherwise above it

    bool operator==(const Child&) const = default;
  };

  Rank parent = -1;  // -1: this is the root
  /// The children in the order of combining: on each side the nearest first, and deeper subtrees,
  /// whose data come later, last.
  std::vector<Child> children;

  [[nodiscard]] bool root() const { return parent < 0; }
  bool operator==(const TreeNode&) const = default;
};

/// `rank`'s place in the post-order binary tree over the `count` ranks from `first`: the last one
/// is the root, the others are split between its subtrees as evenly as can be. Height
/// floor(log2 count).
[[nodiscard]] TreeNode post_order_node(Rank first, Rank count, Rank rank);

/// The root of an in-order tree: odd if there are two ranks or more, near the middle.
[[nodiscard]] Rank in_order_root(Rank count);

/// `rank`'s place in the in-order binary tree over ranks 0 to count - 1, whose inner nodes are all
/// odd: even ranks are leaves.
[[nodiscard]] TreeNode in_order_node(Rank count, Rank rank);

/// The place of `rank` in the mirror image of that tree. For an even count its inner nodes are all
/// even: no rank is an inner node of both.
[[nodiscard]] TreeNode mirrored_in_order_node(Rank count, Rank rank);

/// `rank`'s place in the binomial tree with root 0: rank r's parent is r without its lowest bit.
[[nodiscard]] TreeNode binomial_node(Rank count, Rank rank);

/// The order in which a rank receives its children's blocks: their own order, as it must be if
/// senders wait for their receivers, or as they come.
enum class Receiving : std::uint8_t { in_order, as_they_come };

/// The shape of a tree, computed once, so that times for many block lengths cost little.
class TreeShape {
 public:
  template <typename NodeOf>
  TreeShape(const NodeOf& node_of, Rank root) {
    write(node_of, root);
  }

  /// The time from when all ranks start until the root has combined one block of all of them, one
  /// port a rank; `transfer` is the time of a block on a link, `combine` that of combining two.
  [[nodiscard]] Seconds time_up(Seconds transfer, Seconds combine,
                                Receiving receiving = Receiving::in_order) const;
  /// The time until a block that the root hands to its children, last child first, is everywhere.
  [[nodiscard]] Seconds time_down(Seconds transfer) const;

 private:
  template <typename NodeOf>
  void write(const NodeOf& node_of, Rank rank) {
    const std::vector<TreeNode::Child> children = node_of(rank).children;
    for (const TreeNode::Child& child : children) write(node_of, child.rank);
    children_.push_back(children.size());
  }

  std::vector<std::size_t> children_;  // of each rank, a rank after its children
};

/// TreeShape::time_up() of the tree below `rank`, for one use.
template <typename NodeOf>
[[nodiscard]] Seconds time_up(const NodeOf& node_of, Rank rank, Seconds transfer, Seconds combine,
                              Receiving receiving = Receiving::in_order) {
  return TreeShape(node_of, rank).time_up(transfer, combine, receiving);
}
template <typename NodeOf>
[[nodiscard]] Seconds time_down(const NodeOf& node_of, Rank rank, Seconds transfer) {
  return TreeShape(node_of, rank).time_down(transfer);
}

}  // namespace latecomer
