#include "algorithms/reduce/block_gather.hpp"

#include <algorithm>
#include <array>

namespace latecomer::reduce {
namespace {

/// Where a rank puts the blocks of its subtree: at the root in the output, else in scratch.
class Places {
 public:
  Places(const std::array<Range, 2>& parts, bool root, Builder& builder) : parts_(parts) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].empty()) continue;
      slices_[i] = root ? builder.output(parts_[i]) : builder.scratch(parts_[i].count);
    }
  }
  [[nodiscard]] Slice of(Range range) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const bool here = range.begin >= parts_[i].begin && range.end() <= parts_[i].end();
      if (here) return slices_[i].part(range.begin - parts_[i].begin, range.count);
    }
    return {};
  }

 private:
  std::array<Range, 2> parts_;
  std::array<Slice, 2> slices_{};
};

}  // namespace

void BlockGather::build(const Slice& own, Builder& builder) const {
  const Rotated& tree = subtrees_.tree();
  const Rank me = tree.position(builder.me());
  const TreeNode node = subtrees_.node(me);
  if (!node.root() && node.children.empty()) return builder.send(tree.rank(node.parent), own);
  const auto parts = subtrees_.parts(me);
  const Places places(parts, node.root(), builder);
  builder.copy(own, places.of(block(builder.me())));
  for (const TreeNode::Child& child : node.children) {
    for (const Range& part : subtrees_.parts(child.rank)) {
      if (!part.empty()) builder.recv(tree.rank(child.rank), places.of(part));
    }
  }
  if (node.root()) return;
  for (const Range& part : parts) {
    if (!part.empty()) builder.send(tree.rank(node.parent), places.of(part));
  }
}

Count BlockGather::sent(Rank rank) const {
  const Rank position = subtrees_.tree().position(rank);
  return position == 0 ? 0 : subtrees_.elements(position);
}

/// When `position` has all of its subtree, after all began.
Seconds BlockGather::time_below(Rank position, const Network& network) const {
  Seconds received = 0;
  for (const TreeNode::Child& child : subtrees_.node(position).children) {
    received = std::max(received, time_below(child.rank, network));
    for (const Range& part : subtrees_.parts(child.rank)) {
      if (!part.empty()) received += network.transfer(part.count * parted_.element_bytes);
    }
  }
  return received;
}

}  // namespace latecomer::reduce
