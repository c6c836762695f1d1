#include <gtest/gtest.h>

#include <array>

#include "patterns/trees.hpp"

namespace latecomer {
namespace {

constexpr Rank kLargestPair = 200;

/// The numbers of sends and receives of a rank on edges of each colour.
struct Uses {
  std::array<int, 2> sends{};
  std::array<int, 2> receives{};
};

std::vector<Uses> uses_of(const TwoTrees& trees, Rank ranks) {
  std::vector<Uses> uses(static_cast<std::size_t>(ranks));
  for (Rank rank = 0; rank < ranks; ++rank) {
    for (const int tree : {0, 1}) {
      if (trees.node(rank, tree).root()) continue;
      const auto colour = static_cast<std::size_t>(trees.colour(rank, tree));
      const auto parent = static_cast<std::size_t>(trees.node(rank, tree).parent);
      ++uses[static_cast<std::size_t>(rank)].sends.at(colour);
      ++uses[parent].receives.at(colour);
    }
  }
  return uses;
}

TEST(TwoTrees, ARankSendsAndReceivesOnceAtMostInAColour) {
  for (Rank ranks = 1; ranks <= kLargestPair; ++ranks) {
    Rank edges = 0;
    for (const Uses& uses : uses_of(TwoTrees(ranks), ranks)) {
      for (const std::size_t colour : {0, 1}) {
        EXPECT_LE(uses.sends[colour], 1) << "P=" << ranks;
        EXPECT_LE(uses.receives[colour], 1) << "P=" << ranks;
        edges += uses.sends[colour];
      }
    }
    EXPECT_EQ(edges, 2 * (ranks - 1)) << "P=" << ranks;
  }
}

TEST(TwoTrees, ChildrenFollowInTheNextTwoStepsOfTheirColours) {
  for (Rank ranks = 1; ranks <= kLargestPair; ++ranks) {
    const TwoTrees trees(ranks);
    for (Rank rank = 0; rank < ranks; ++rank) {
      for (const int tree : {0, 1}) {
        const TreeNode& node = trees.node(rank, tree);
        Count before = 3;
        for (const TreeNode::Child& child : node.children) {
          EXPECT_EQ(trees.node(child.rank, tree).parent, rank);
          const Count step = trees.step(child.rank, tree);
          EXPECT_EQ(step % 2, trees.colour(child.rank, tree)) << "P=" << ranks;
          EXPECT_LT(step - trees.step(rank, tree), before) << "P=" << ranks;
          before = step - trees.step(rank, tree);
          EXPECT_GE(before, 1) << "P=" << ranks;
        }
      }
    }
  }
}

TEST(TwoTrees, TakeTwoStepsALevel) {
  EXPECT_EQ(TwoTrees(1).rounds_down(), 0);
  for (Rank ranks = 2; ranks <= kLargestPair; ++ranks) {
    int levels = 1;
    while ((1 << levels) < ranks) ++levels;
    EXPECT_LE(TwoTrees(ranks).rounds_down(), 2 * levels + 2) << "P=" << ranks;
    EXPECT_GE(TwoTrees(ranks).rounds_down(), levels) << "P=" << ranks;
  }
}

}  // namespace
}  // namespace latecomer
