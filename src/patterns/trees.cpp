#include "patterns/trees.hpp"

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

TwoTrees::TwoTrees(Rank ranks) : ranks_(ranks), places_(index(ranks, 0)) {
  place_all();
  colour_all();
  for (Rank rank = 0; rank < ranks; ++rank) {
    for (const int tree : {0, 1}) {
      if (node(rank, tree).root()) find_steps(rank, tree);
    }
  }
}

void TwoTrees::place_all() {
  const bool one_above = ranks_ > 1 && ranks_ % 2 == 1;
  const Rank inside = one_above ? ranks_ - 1 : ranks_;
  const Rank roots[kTrees] = {in_order_root(inside), inside - 1 - in_order_root(inside)};
  for (Rank rank = 0; rank < inside; ++rank) {
    at(rank, 0).node = in_order_node(inside, rank);
    at(rank, 1).node = mirrored_in_order_node(inside, rank);
  }
  for (int tree = 0; one_above && tree < kTrees; ++tree) {
    at(roots[tree], tree).node.parent = inside;
    at(inside, tree).node.children = {{roots[tree], true}};
  }
}

TwoTrees::Edge TwoTrees::beside_receiver(Edge edge) const {
  const Rank receiver = node(edge.rank, edge.tree).parent;
  for (const int tree : {0, 1}) {
    for (const TreeNode::Child& child : node(receiver, tree).children) {
      if (child.rank != edge.rank || tree != edge.tree) return {child.rank, tree};
    }
  }
  return {};
}

/// Follows a path or cycle one way, colours alternating.
void TwoTrees::colour_from(Edge edge, bool at_sender) {
  while (true) {
    const Edge next = at_sender ? beside_sender(edge) : beside_receiver(edge);
    if (!exists(next) || at(next.rank, next.tree).colour >= 0) return;
    at(next.rank, next.tree).colour = 1 - colour(edge.rank, edge.tree);
    edge = next;
    at_sender = !at_sender;
  }
}

void TwoTrees::colour_all() {
  for (Rank rank = 0; rank < ranks_; ++rank) {
    for (const int tree : {0, 1}) {
      Place& place = at(rank, tree);
      if (place.colour >= 0) continue;
      place.colour = 0;
      if (place.node.root()) continue;
      colour_from({rank, tree}, true);
      colour_from({rank, tree}, false);
    }
  }
}

/// Finds the steps of `rank` and of all ranks below. The edges of a root in its other tree, or
/// those of the other root, use the steps of the other parity.
void TwoTrees::find_steps(Rank rank, int tree) {
  Place& place = at(rank, tree);
  if (place.node.root()) {
    const bool inner = node(rank, 1 - tree).root();
    const auto& children = place.node.children;
    const int taken =
        inner && !children.empty() ? colour(children[0].rank, tree) : colour(rank, 1 - tree);
    place.step = 1 - taken;
  }
  const auto next = [&](Rank child) { return 1 + (place.step + 1 + colour(child, tree)) % 2; };
  auto& children = place.node.children;
  std::sort(children.begin(), children.end(),
            [&](const auto& a, const auto& b) { return next(a.rank) > next(b.rank); });
  for (const TreeNode::Child& child : children) {
    at(child.rank, tree).step = place.step + next(child.rank);
    find_steps(child.rank, tree);
  }
}

Count TwoTrees::rounds_down() const {
  const auto [first, last] = std::minmax_element(
      places_.begin(), places_.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return last->step - first->step;
}

}  // namespace latecomer
