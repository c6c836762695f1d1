// The common part of the tree all-reduces: combining a block up a tree and sending its result down.
#pragma once

#include "algorithms/registry.hpp"
#include "base/partition.hpp"
#include "patterns/trees.hpp"

namespace latecomer::allreduce {

/// One rank's part in the reduction of a range of the vector along one tree, block by block, and in
/// sending the result back. First all `up`, then `turn`, then all `down`; or `combine` and
/// `hand_out` where the result is received from another tree or rank.
class TreeWalk {
 public:
  /// Takes scratch of the size of `range` for each child, but at most twice. If there are children
  /// on both sides, there are at most two.
  TreeWalk(Builder& builder, TreeNode node, Range range);

  [[nodiscard]] const TreeNode& node() const { return node_; }

  /// Receives a block of every child's subtree and combines it with this rank's own. Returns the
  /// place of the sum, which is not the output if the operator commutes. Meanwhile sends each child
  /// `handed`, an earlier block of the result.
  Slice combine(Range block, Range handed = {});
  /// The last receive that `combine` has written.
  [[nodiscard]] OpIndex received() const { return received_; }
  /// Calls `combine` and sends the sum to the parent, if there is one, after the messages before.
  void up(Range block);
  /// At the root, copies the whole sum at once: the result leaves only when its last block is
  /// there.
  void turn();
  /// Receives the result from the parent, if there is one, and sends it to the children.
  void down(Range block);
  /// Sends `result` to the children.
  void hand_out(const Slice& result);
  /// The place where a child's block is received. The first child's is free again after `combine`
  /// if that left the sum in the output.
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
  Slice sums_;    // of the whole range: the place where combine left them
  Slice result_;  // of the whole range: the place from which it is sent
};

}  // namespace latecomer::allreduce
