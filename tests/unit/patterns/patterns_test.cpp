#include <gtest/gtest.h>

#include "algorithms/allreduce/generalized/levels.hpp"
#include "base/partition.hpp"
#include "patterns/powers.hpp"

namespace latecomer {
namespace {

TEST(Partition, CoversTheVectorOnce) {
  for (const Count count : {0, 1, 5, 16, 17}) {
    for (const Count parts : {1, 2, 5, 16, 40}) {
      const Partition split(count, parts);
      Count next = 0;
      for (Count part = 0; part < parts; ++part) {
        EXPECT_EQ(split.range(part).begin, next);
        EXPECT_LE(split.range(part).count, split.longest());
        EXPECT_GE(split.range(part).count, split.longest() - 1);
        next = split.range(part).end();
      }
      EXPECT_EQ(next, count);
      EXPECT_EQ(split.range(0, parts), (Range{0, count}));
    }
  }
}

TEST(EagerParts, AreTheFewestThatAreNotHeldUp) {
  EXPECT_EQ(eager_parts(10000, {.eager_limit = 1000}), 20);
  EXPECT_EQ(eager_parts(0, {.eager_limit = 1000}), 1);
  EXPECT_EQ(eager_parts(10000, {.eager_limit = 0}), 1);  // nothing is eager, in however many parts
}

TEST(Logarithms, OfAllNumbers) {
  for (Rank value = 1; value <= 70; ++value) {
    EXPECT_LE(Rank{1} << floor_log2(value), value);
    EXPECT_GT(Rank{2} << floor_log2(value), value);
    EXPECT_GE(Rank{1} << ceil_log2(value), value);
    EXPECT_LT((Rank{1} << ceil_log2(value)) / 2, value);
  }
}

TEST(PowerOfTwoGroup, CoreStandsForContiguousRunsInOrder) {
  for (Rank ranks = 1; ranks <= 70; ++ranks) {
    const PowerOfTwoGroup folded(ranks);
    EXPECT_EQ(folded.core + folded.extra, ranks);
    Rank previous = -1;
    for (Rank position = 0; position < folded.core; ++position) {
      const Rank rank = folded.rank(position);
      EXPECT_GT(rank, previous);
      EXPECT_FALSE(folded.is_folded(rank));
      EXPECT_EQ(folded.position(rank), position);
      EXPECT_EQ(folded.is_proxy(rank), rank - previous == 2);
      previous = rank;
    }
    EXPECT_EQ(previous, ranks - 1);
  }
}

TEST(Shrinking, HalvesInTheFewestSteps) {
  EXPECT_EQ(shrinking(7, 1, 3), (std::vector<Count>{7, 4, 2, 1}));
  EXPECT_EQ(shrinking(9, 1, 4), (std::vector<Count>{9, 5, 3, 2, 1}));
  EXPECT_EQ(shrinking(48, 6, 3), (std::vector<Count>{48, 24, 12, 6}));
  EXPECT_EQ(shrinking(5, 5, 0), (std::vector<Count>{5}));
}

TEST(Shrinking, AnyNumberOfStepsLosesAtMostHalfInEach) {
  for (Count from = 1; from <= 40; ++from) {
    for (Count to = 1; to <= from; ++to) {
      for (Count steps = fewest_steps(from, to); steps <= from - to; ++steps) {
        const auto sizes = shrinking(from, to, steps);
        ASSERT_EQ(static_cast<Count>(sizes.size()), steps + 1);
        ASSERT_EQ(sizes.front(), from);
        ASSERT_EQ(sizes.back(), to);
        for (std::size_t i = 1; i < sizes.size(); ++i) {
          ASSERT_LT(sizes[i], sizes[i - 1]) << from << " to " << to << " in " << steps;
          ASSERT_LE(sizes[i - 1], 2 * sizes[i]) << from << " to " << to << " in " << steps;
        }
      }
    }
  }
}

}  // namespace
}  // namespace latecomer
