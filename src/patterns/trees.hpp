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

/// Ranks by their distance from the root, so that patterns with root 0 serve any root.
class Rotated {
 public:
  Rotated(Rank ranks, Rank root) : ranks_(ranks), root_(root) {}

  [[nodiscard]] Rank position(Rank rank) const { return (rank - root_ + ranks_) % ranks_; }
  [[nodiscard]] Rank rank(Rank position) const { return (position + root_) % ranks_; }

 private:
  Rank ranks_;
  Rank root_;
};

/// Two trees over the same ranks, and steps in which all ranks can be busy and no port is needed
/// twice.
///
/// Each rank is an inner node of one tree at most, so it sends on two edges at most, to its two
/// parents, and receives on two at most, from its children. Edges that meet at a sender or at a
/// receiver are paths and cycles of even length: two colours suffice. Edges of colour 0 are used in
/// even steps, those of colour 1 in odd ones; downwards the same with the edges reversed. Source:
/// Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan,
/// Parallel Computing 35 (2009).
class TwoTrees {
 public:
  static constexpr int kTrees = 2;

  /// The first tree is the in-order tree over the ranks, the second one its mirror image; if the
  /// number of ranks is odd, the last one stands above both roots. O(P log P).
  explicit TwoTrees(Rank ranks);

  /// The child to which blocks are sent first is the last.
  [[nodiscard]] const TreeNode& node(Rank rank, int tree) const { return at(rank, tree).node; }
  /// The colour, 0 or 1, of the edge to the parent; 0 where there is none.
  [[nodiscard]] int colour(Rank rank, int tree) const { return at(rank, tree).colour; }
  /// The step in which `rank` receives its parent's first block; each further block follows two
  /// steps later. On the way up it sends its last block as many steps before the end. A root has
  /// all blocks one step before it sends the first.
  [[nodiscard]] Count step(Rank rank, int tree) const { return at(rank, tree).step; }
  /// The steps from a root's sending of its first block until this block is everywhere.
  [[nodiscard]] Count rounds_down() const;

 private:
  struct Place {
    TreeNode node;
    int colour = -1;
    Count step = 0;
  };
  struct Edge {  // from `rank` to its parent in `tree`
    Rank rank = -1;
    int tree = 0;
  };

  [[nodiscard]] static std::size_t index(Rank rank, int tree) {
    return static_cast<std::size_t>(kTrees) * static_cast<std::size_t>(rank) +
           static_cast<std::size_t>(tree);
  }
  [[nodiscard]] Place& at(Rank rank, int tree) { return places_[index(rank, tree)]; }
  [[nodiscard]] const Place& at(Rank rank, int tree) const { return places_[index(rank, tree)]; }
  [[nodiscard]] bool exists(Edge edge) const {
    return edge.rank >= 0 && !node(edge.rank, edge.tree).root();
  }
  void place_all();
  /// The other edge of the same sender.
  [[nodiscard]] Edge beside_sender(Edge edge) const { return {edge.rank, 1 - edge.tree}; }
  /// The other edge of the same receiver; its rank is -1 if there is none.
  [[nodiscard]] Edge beside_receiver(Edge edge) const;
  void colour_from(Edge edge, bool at_sender);
  void colour_all();
  void find_steps(Rank rank, int tree);

  Rank ranks_;
  std::vector<Place> places_;
};

}  // namespace latecomer
