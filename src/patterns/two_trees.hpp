// Two trees over the same ranks, and steps in which all ranks can be busy and no port is needed
// twice.
//
// Each rank is an inner node of one tree at most, so it sends on two edges at most, to its two
// parents, and receives on two at most, from its children. Edges that meet at a sender or at a
// receiver are paths and cycles of even length: two colours suffice. Edges of colour 0 are used in
// even steps, those of colour 1 in odd ones; downwards the same with the edges reversed. Source:
// Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan,
// Parallel Computing 35 (2009).
#pragma once

#include <vector>

#include "patterns/trees.hpp"

namespace latecomer {

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
