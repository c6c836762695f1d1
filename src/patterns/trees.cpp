#include "patterns/trees.hpp"

#include <algorithm>

namespace latecomer {

TreeNode post_order_node(Rank first, Rank count, Rank rank) {
  TreeNode node;
  while (true) {
    const Rank root = first + count - 1;
    const Rank near = (count - 1) / 2;
    const Rank far = count - 1 - near;
    if (rank == root) {
      if (near > 0) node.children.push_back({root - 1, true});
      if (far > 0) node.children.push_back({first + far - 1, true});
      return node;
    }
    node.parent = root;
    const bool in_far = rank < first + far;
    count = in_far ? far : near;
    if (!in_far) first += far;
  }
}

Rank in_order_root(Rank count) { return count == 1 ? 0 : (count / 2) | 1; }

TreeNode in_order_node(Rank count, Rank rank) {
  TreeNode node;
  Rank first = 0;
  while (true) {
    const Rank left = in_order_root(count);
    const Rank right = count - 1 - left;
    const Rank root = first + left;
    if (rank == root) {
      if (right > 0) node.children.push_back({root + 1 + in_order_root(right), false});
      if (left > 0) node.children.push_back({first + in_order_root(left), true});
      return node;
    }
    node.parent = root;
    count = rank < root ? left : right;
    if (rank > root) first = root + 1;
  }
}

TreeNode mirrored_in_order_node(Rank count, Rank rank) {
  TreeNode node = in_order_node(count, count - 1 - rank);
  if (!node.root()) node.parent = count - 1 - node.parent;
  for (TreeNode::Child& child : node.children) child = {count - 1 - child.rank, !child.left};
  return node;
}

TreeNode binomial_node(Rank count, Rank rank) {
  TreeNode node;
  for (Rank bit = 1; bit < count; bit *= 2) {
    if ((rank & bit) != 0) {
      node.parent = rank - bit;
      break;
    }
    if (rank + bit < count) node.children.push_back({rank + bit, false});
  }
  return node;
}

Seconds TreeShape::time_up(Seconds transfer, Seconds combine, Receiving receiving) const {
  std::vector<Seconds> ready;  // of the subtrees that were not received yet
  for (const std::size_t children : children_) {
    const auto mine = ready.end() - static_cast<std::ptrdiff_t>(children);
    if (receiving == Receiving::as_they_come) std::sort(mine, ready.end());
    Seconds received = 0;
    Seconds combined = 0;
    for (auto child = mine; child != ready.end(); ++child) {
      received = std::max(received, *child) + transfer;
      combined = std::max(combined, received) + combine;
    }
    ready.erase(mine, ready.end());
    ready.push_back(combined);
  }
  return ready.front();
}

Seconds TreeShape::time_down(Seconds transfer) const {
  std::vector<Seconds> below;  // the times of the subtrees that were not sent to yet
  for (const std::size_t children : children_) {
    Seconds sent = 0;
    Seconds last = 0;
    for (std::size_t i = 0; i < children; ++i) {
      sent += transfer;
      last = std::max(last, sent + below.back());
      below.pop_back();
    }
    below.push_back(last);
  }
  return below.front();
}

}  // namespace latecomer
