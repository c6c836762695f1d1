#include "algorithms/reduce/binomial_time.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "algorithms/after_last.hpp"
#include "patterns/rotated.hpp"
#include "patterns/trees.hpp"

namespace latecomer::reduce {
namespace {

/// Positions of the tree, as they are done.
class TreeClock {
 public:
  TreeClock(const Problem& problem, const Network& network, std::vector<Seconds> arrivals)
      : transfer_(network.transfer(problem.bytes())),
        combine_(network.combining(problem.bytes())),
        waits_(problem.bytes() > network.eager_limit),
        exits_(std::move(arrivals)) {}

  /// Until `position` has all of its subtree: that is its exit for now.
  Seconds fold(Rank position) {
    std::vector<Rank> children;
    for (const TreeNode::Child& child : binomial_node(ranks(), position).children) {
      children.push_back(child.rank);
      fold(child.rank);
    }
    Seconds& value = exits_[position];
    for (const Seconds there : receive(children, value)) value = std::max(value, there) + combine_;
    return value;
  }
  void hand_over(Rank from, Rank to) {
    exits_[from] = (waits_ ? std::max(exits_[from], exits_[to]) : exits_[from]) + transfer_;
    exits_[to] = std::max(exits_[to], exits_[from]);
  }
  /// By position.
  [[nodiscard]] const std::vector<Seconds>& exits() const { return exits_; }

 private:
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(exits_.size()); }

  /// When each child's message is there, and the child done. Short ones leave when they are sent
  /// and take in turns the link to the receiver; long ones are received in the program's order.
  std::vector<Seconds> receive(const std::vector<Rank>& children, Seconds arrival) {
    std::vector<std::size_t> order(children.size());
    std::iota(order.begin(), order.end(), 0);
    const auto sooner = [&](std::size_t a, std::size_t b) {
      return exits_[children[a]] < exits_[children[b]];
    };
    if (!waits_) std::stable_sort(order.begin(), order.end(), sooner);
    std::vector<Seconds> there(children.size());
    Seconds link = waits_ ? arrival : -std::numeric_limits<Seconds>::infinity();
    for (const std::size_t i : order) {
      Seconds& exit = exits_[children[i]];
      there[i] = link = std::max(exit, link) + transfer_;
      exit = waits_ ? link : exit + transfer_;
    }
    return there;
  }

  Seconds transfer_;
  Seconds combine_;
  bool waits_;  // a message leaves only when its receiver takes it in
  std::vector<Seconds> exits_;
};

}  // namespace

Seconds binomial_after_last(const Problem& problem, Rank tree_root, const Network& network,
                            const std::vector<Seconds>& arrivals) {
  const Rotated tree(problem.ranks, tree_root);
  std::vector<Seconds> by_position;
  for (Rank at = 0; at < problem.ranks; ++at) by_position.push_back(arrivals[tree.rank(at)]);
  TreeClock clock(problem, network, std::move(by_position));
  clock.fold(0);
  if (tree_root != problem.root) clock.hand_over(0, tree.position(problem.root));
  return mean_exit_after_last(clock.exits(), arrivals);
}

}  // namespace latecomer::reduce
