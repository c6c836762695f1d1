#include "forecast/pattern.hpp"

#include <gtest/gtest.h>

#include "unit/forecast/histories.hpp"

namespace latecomer {
namespace {

using testing::base_seed;
using testing::random_times;
using testing::Times;

TEST(Pattern, MisplacementOfAnotherRankThanPredictedIsTwiceItsLateness) {
  EXPECT_EQ(misplacement(Times{0, 5, 0}, Times{0, 0, 5}), 10);
  EXPECT_EQ(misplacement(Times{0, 5, 0}, Times{0, 0, 0}), 5);
  EXPECT_EQ(misplacement(Times{0, 5, 0}, Times{3, 8, 3}), 0);
  EXPECT_EQ(misplacement(Times{4}, Times{9}), 0);
}

TEST(Pattern, RanksFartherApartThanTheMisplacementComeInThePredictedOrder) {
  Random random(base_seed());
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(::testing::Message() << "seed " << base_seed() << ", round " << round);
    const Times predicted = random_times(9, 3, random);
    Times actual = random_times(9, 1, random);
    for (std::size_t rank = 0; rank < 9; ++rank) actual[rank] += predicted[rank];
    const Seconds apart = misplacement(predicted, actual) + 1e-9;
    for (std::size_t one = 0; one < 9; ++one) {
      for (std::size_t other = 0; other < 9; ++other) {
        if (predicted[other] - predicted[one] < apart) continue;
        EXPECT_LT(actual[one], actual[other]);
      }
    }
  }
}

TEST(Pattern, ExtremesOfAnyNumberOfValues) {
  Random random(base_seed());
  for (Rank ranks = 1; ranks < 40; ++ranks) {
    const Times times = random_times(ranks, 1, random);
    EXPECT_EQ(imbalance(times), std::ranges::max(times) - std::ranges::min(times)) << ranks;
  }
}

TEST(Pattern, ImbalanceIsLastMinusFirst) { EXPECT_EQ(imbalance(Times{3, -1, 2}), 4); }

}  // namespace
}  // namespace latecomer
