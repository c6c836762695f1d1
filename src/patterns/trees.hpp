// Trees of ranks whose subtrees are runs of consecutive ranks, so that reducing along them keeps
// operand order. Each rank finds its own place in O(log P).
#pragma once

#include <algorithm>
#include <compare>
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
  /// The children in the order of combining: on each side the nearest first; the children with
  /// deeper subtrees, whose data arrive later, last.
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

/// The steps that follow each other in a tree through which one block goes, one port a rank, where
/// combining two blocks takes less time than a transfer.
struct TreeSteps {
  Count transfers = 0;
  Count combines = 0;

  auto operator<=>(const TreeSteps&) const = default;
};

/// A rank receives its children's blocks in their order, as it must where senders wait for their
/// receivers, or in the order of their arrival.
enum class Receiving : std::uint8_t { in_order, as_they_come };

/// The steps from the start until `root` has the combined blocks of all ranks below it.
template <typename NodeOf>
[[nodiscard]] TreeSteps steps_up(const NodeOf& node_of, Rank root,
                                 Receiving receiving = Receiving::in_order) {
  std::vector<TreeSteps> below;
  for (const TreeNode::Child& child : node_of(root).children) {
    below.push_back(steps_up(node_of, child.rank, receiving));
  }
  if (receiving == Receiving::as_they_come) std::ranges::sort(below);
  TreeSteps received;
  TreeSteps combined;
  for (const TreeSteps& steps : below) {
    received = std::max(received, steps);
    ++received.transfers;
    combined = std::max(combined, received);
    ++combined.combines;
  }
  return combined;
}

/// The transfers until a block that `root` sends to its children, the last child first, is
/// everywhere below it.
template <typename NodeOf>
[[nodiscard]] Count steps_down(const NodeOf& node_of, Rank root) {
  const std::vector<TreeNode::Child> children = node_of(root).children;
  Count sent = 0;
  Count last = 0;
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    last = std::max(last, ++sent + steps_down(node_of, child->rank));
  }
  return last;
}

}  // namespace latecomer
