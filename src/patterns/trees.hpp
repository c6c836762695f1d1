// Trees of ranks whose subtrees are runs of consecutive ranks, so that reducing along them keeps
// operand order. Each rank finds its own place in O(log P).
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

/// One rank's place in a tree.
struct TreeNode {
  struct Child {
    Rank rank = 0;
    bool left = false;  // its whole subtree lies below this rank, otherwise above it

    bool operator==(const Child&) const = default;
  };

  Rank parent = -1;  // -1: this is the root
  /// In the order in which to combine them: of the children on one side the nearest first, and
  /// deeper subtrees, whose data come later, last.
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

/// Whether a rank receives its children's blocks in their order, as they must where senders wait
/// for their receivers, or as they come.
enum class Receiving : std::uint8_t { in_order, as_they_come };

/// The time from when all ranks start until `rank` has combined one block of all its subtree, one
/// port a rank; `transfer` is the time of a block on a link, `combine` that of combining two.
template <typename NodeOf>
[[nodiscard]] Seconds time_up(const NodeOf& node_of, Rank rank, Seconds transfer, Seconds combine,
                              Receiving receiving = Receiving::in_order) {
  std::vector<Seconds> ready;
  for (const TreeNode::Child& child : node_of(rank).children) {
    ready.push_back(time_up(node_of, child.rank, transfer, combine, receiving));
  }
  if (receiving == Receiving::as_they_come) std::sort(ready.begin(), ready.end());
  Seconds received = 0;
  Seconds combined = 0;
  for (const Seconds sent : ready) {
    received = std::max(received, sent) + transfer;
    combined = std::max(combined, received) + combine;
  }
  return combined;
}

/// The time until a block that `rank` hands to its children, last child first, is everywhere below.
template <typename NodeOf>
[[nodiscard]] Seconds time_down(const NodeOf& node_of, Rank rank, Seconds transfer) {
  const std::vector<TreeNode::Child> children = node_of(rank).children;
  Seconds sent = 0;
  Seconds last = 0;
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    sent += transfer;
    last = std::max(last, sent + time_down(node_of, child->rank, transfer));
  }
  return last;
}

}  // namespace latecomer
