// What the tree all-reduces share: combining a block up a tree and handing its result down.
#pragma once

#include "algorithms/registry.hpp"
#include "base/partition.hpp"
#include "patterns/trees.hpp"

namespace latecomer::allreduce {

/// One rank's part in the reduction of a range of the vector along one tree, block by block, and in
/// the way of the result back. First all `up`, then `turn`, then all `down`; or `combine` and
/// `hand_out` where the result comes from somewhere else.
class TreeWalk {
 public:
  /// Takes scratch of the size of `range` for each child, at most twice. Children on both sides
  /// are at most two.
  TreeWalk(Builder& builder, TreeNode node, Range range);

  [[nodiscard]] const TreeNode& node() const { return node_; }

  /// Receives a block of every child's subtree and combines it with this rank's own; returns where
  /// the sum lies: not in the output if the operator commutes. Meanwhile each child gets `handed`,
  /// an earlier block of the result.
  Slice combine(Range block, Range handed = {});
  /// The last receive that `combine` has written.
  [[nodiscard]] OpIndex received() const { return received_; }
  /// combine, and send to the parent, if there is one; in turn.
  void up(Range block);
  /// At the root, one copy of the whole: no block of the result leaves before the last is there.
  void turn();
  /// Receives the result from the parent, if there is one, and hands it to the children.
  void down(Range block);
  /// Hands `result` to the children.
  void hand_out(const Slice& result);
  /// Where a child's block lands. The first child's is free again after `combine` if that left the
  /// sum in the output.
  [[nodiscard]] Slice landing(std::size_t child, Range block) const;

 private:
  [[nodiscard]] Slice part(const Slice& whole, Range block) const {
    return whole.part(block.begin - range_.begin, block.count);
  }

  Builder& builder_;
  TreeNode node_;
  Range range_;
  Slice landings_[2];
  OpIndex received_ = Builder::kNone;
  Slice sums_;    // of the whole range: where combine left them
  Slice result_;  // of the whole range: where it is handed out from
};

}  // namespace latecomer::allreduce
