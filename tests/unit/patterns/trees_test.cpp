#include "patterns/trees.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "algorithms/segments.hpp"
#include "patterns/powers.hpp"

namespace latecomer {
namespace {

constexpr Rank kMaxRanks = 70;
using NodeOf = std::function<TreeNode(Rank)>;

/// The ranks of a subtree, each side's children next to the rank itself and next to each other.
std::vector<Rank> subtree(const NodeOf& node_of, Rank rank) {
  std::vector<Rank> ranks = {rank};
  for (const auto& [child, left] : node_of(rank).children) {
    EXPECT_EQ(node_of(child).parent, rank);
    EXPECT_EQ(child < rank, left);
    const std::vector<Rank> below = subtree(node_of, child);
    ranks.insert(left ? ranks.begin() : ranks.end(), below.begin(), below.end());
  }
  return ranks;
}

/// Combining along the children in their order keeps rank order and takes in every rank once.
void expect_in_rank_order(const NodeOf& node_of, Rank root, Rank first, Rank count) {
  std::vector<Rank> expected(static_cast<std::size_t>(count));
  std::iota(expected.begin(), expected.end(), first);
  EXPECT_TRUE(node_of(root).root());
  EXPECT_EQ(subtree(node_of, root), expected);
}

Rank height(const NodeOf& node_of, Rank rank) {
  Rank max = 0;
  for (const auto& child : node_of(rank).children) {
    max = std::max(max, 1 + height(node_of, child.rank));
  }
  return max;
}

TEST(PostOrderTree, KeepsRankOrderAndIsAsLowAsCanBe) {
  for (Rank count = 1; count <= kMaxRanks; ++count) {
    for (const Rank first : {0, 5}) {
      const NodeOf node_of = [&](Rank rank) { return post_order_node(first, count, rank); };
      expect_in_rank_order(node_of, first + count - 1, first, count);
      EXPECT_EQ(height(node_of, first + count - 1), floor_log2(count));
      for (Rank rank = first; rank < first + count; ++rank) {
        EXPECT_LE(node_of(rank).children.size(), 2u);
      }
    }
  }
}

TEST(InOrderTree, KeepsRankOrderAndIsAsLowAsCanBe) {
  for (Rank count = 1; count <= kMaxRanks; ++count) {
    const NodeOf plain = [&](Rank rank) { return in_order_node(count, rank); };
    const NodeOf mirrored = [&](Rank rank) { return mirrored_in_order_node(count, rank); };
    const Rank root = in_order_root(count);
    expect_in_rank_order(plain, root, 0, count);
    expect_in_rank_order(mirrored, count - 1 - root, 0, count);
    EXPECT_EQ(height(plain, root), floor_log2(count)) << count;
    EXPECT_EQ(height(mirrored, count - 1 - root), floor_log2(count)) << count;
  }
}

TEST(InOrderTree, NoRankIsAnInnerNodeOfBothTrees) {
  for (Rank count = 2; count <= kMaxRanks; count += 2) {
    for (Rank rank = 0; rank < count; ++rank) {
      EXPECT_EQ(in_order_node(count, rank).children.empty(), rank % 2 == 0);
      EXPECT_EQ(mirrored_in_order_node(count, rank).children.empty(), rank % 2 == 1);
    }
  }
}

TEST(BinomialTree, KeepsRankOrder) {
  for (Rank count = 1; count <= kMaxRanks; ++count) {
    const NodeOf node_of = [&](Rank rank) { return binomial_node(count, rank); };
    expect_in_rank_order(node_of, 0, 0, count);
    EXPECT_EQ(node_of(0).children.size(), count == 1 ? 0u : floor_log2(count - 1) + 1u);
  }
}

// A complete binary tree of height h: the second child's message comes after the first one's.
TEST(TreeSteps, OfACompleteBinaryTree) {
  for (const Rank levels : {1, 2, 3, 5}) {
    const Rank count = (1 << levels) - 1;
    const NodeOf node_of = [&](Rank rank) { return post_order_node(0, count, rank); };
    EXPECT_EQ(steps_up(node_of, count - 1), (TreeSteps{2 * (levels - 1), levels - 1}));
    EXPECT_EQ(steps_down(node_of, count - 1), 2 * (levels - 1));
  }
}

TEST(TreeSteps, OfABinomialTree) {
  const NodeOf node_of = [&](Rank rank) { return binomial_node(16, rank); };
  EXPECT_EQ(steps_up(node_of, 0), (TreeSteps{4, 4}));
  EXPECT_EQ(steps_down(node_of, 0), 4);
}

TEST(TreeSteps, BlocksThatComeLaterDelayTheOthersOnlyInOrder) {
  // Rank 0 lists the child with a child of its own first.
  const NodeOf node_of = [](Rank rank) {
    const std::vector<TreeNode::Child> children[] = {
        {{1, false}, {3, false}}, {{2, false}}, {}, {}};
    return TreeNode{-1, children[rank]};
  };
  EXPECT_EQ(steps_up(node_of, 0), (TreeSteps{3, 2}));
  EXPECT_EQ(steps_up(node_of, 0, Receiving::as_they_come), (TreeSteps{2, 2}));
}

TEST(BestSegments, BalancesStartUpsAgainstFill) {
  const auto time = [](Count segments) {  // (12 + 3 S)(alpha + beta m / S), m = 1 MB
    const auto s = static_cast<double>(segments);
    return (12 + 3 * s) * (1e-3 + 1 / s);
  };
  EXPECT_NEAR(static_cast<double>(best_segments(250000, time)), 63, 63 / 8.0);
  EXPECT_EQ(best_segments(7, time), 7);
  EXPECT_EQ(best_segments(0, time), 1);
}

TEST(BestSegments, KeepsToItsLimits) {
  const auto falling = [](Count segments) { return -static_cast<double>(segments); };
  const Count max = best_segments(Count{1} << 58, falling);
  EXPECT_LE(max, kMaxSegments);
  EXPECT_GT(max, kMaxSegments - kMaxSegments / 8);
  EXPECT_EQ(best_segments(1000, [](Count) { return 1.0; }), 1);
}

}  // namespace
}  // namespace latecomer
