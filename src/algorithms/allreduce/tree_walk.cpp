#include "algorithms/allreduce/tree_walk.hpp"

#include <utility>

namespace latecomer::allreduce {

TreeWalk::TreeWalk(Builder& builder, TreeNode node, Range range)
    : builder_(builder), node_(std::move(node)), range_(range), result_(builder.output(range)) {
  if (!node_.children.empty()) landings_[0] = builder.scratch(range.count);
  if (node_.children.size() > 1) landings_[1] = builder.scratch(range.count);
}

/// Two places suffice for any number of children: while one holds the sum, the next block is
/// received in the other.
Slice TreeWalk::landing(std::size_t child, Range block) const {
  return part(landings_[child % 2], block);
}

Slice TreeWalk::combine(Range block, Range handed) {
  Slice sum = builder_.input(block);
  for (std::size_t i = 0; i < node_.children.size(); ++i) {
    const auto [child, left] = node_.children[i];
    const Slice received = landing(i, block);
    builder_.send_in_turn(child, part(result_, handed));
    builder_.recv(child, received);
    if (!received.empty()) received_ = builder_.last();
    if (builder_.commutative()) {
      // Not into the output, also in place: the receive of the result there then need not wait
      // until the sum has left.
      builder_.combine(left ? received : sum, left ? sum : received,
                       left ? Into::left : Into::right);
      sum = received;
    } else {
      const Received side = left ? Received::left : Received::right;
      sum = builder_.fold(received, side, sum, builder_.output(block));
    }
  }
  sums_ = {sum.buffer, sum.begin - (block.begin - range_.begin), range_.count};
  return sum;
}

void TreeWalk::up(Range block) {
  const Slice sum = combine(block);
  if (!node_.root()) builder_.send_in_turn(node_.parent, sum);
}

void TreeWalk::turn() {
  if (!node_.root()) return;
  const Slice output = builder_.output(range_);
  if (sums_ == output && !node_.children.empty()) result_ = landings_[0];
  builder_.copy(sums_, sums_ == output ? result_ : output);
}

void TreeWalk::down(Range block) {
  if (!node_.root()) builder_.recv(node_.parent, builder_.output(block));
  hand_out(part(result_, block));
}

/// Deeper subtrees first: they take longer.
void TreeWalk::hand_out(const Slice& result) {
  for (auto child = node_.children.rbegin(); child != node_.children.rend(); ++child) {
    builder_.send_in_turn(child->rank, result);
  }
}

}  // namespace latecomer::allreduce
