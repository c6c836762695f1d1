// Which ranks mostly come late.
#include "telemetry/mostly_late.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace latecomer {
namespace {

using Late = std::vector<bool>;

TEST(MostlyLate, TheFirstCallTellsNothing) {
  MostlyLate mostly;
  EXPECT_EQ(mostly.ranks(), Late{});
  mostly.learn({0, 0, 5});
  EXPECT_EQ(mostly.ranks(), (Late{false, false, false}));
  mostly.learn({1, 0, 0});
  EXPECT_EQ(mostly.ranks(), (Late{true, false, false}));
}

/// The rank that has the task of all: the first that is not late.
std::size_t holder(const MostlyLate& mostly) {
  const auto found = std::ranges::find(mostly.ranks(), false);
  return found == mostly.ranks().end() ? 0
                                       : static_cast<std::size_t>(found - mostly.ranks().begin());
}

TEST(MostlyLate, ATaskStaysUntilItsRankIsLate) {
  MostlyLate mostly;
  mostly.learn({0, 0, 0});
  const auto after = [&](const std::vector<Seconds>& lateness) {
    for (int i = 0; i < 9; ++i) mostly.learn(lateness);
    return holder(mostly);
  };
  EXPECT_EQ(after({0, 0, 1}), 0U);
  EXPECT_EQ(mostly.ranks(), (Late{false, false, false}));  // nothing has changed
  EXPECT_EQ(after({1, 0, 0}), 1U);
  EXPECT_EQ(after({0, 0, 1}), 1U);
  EXPECT_EQ(after({0, 1, 0}), 0U);
  EXPECT_EQ(after({1, 1, 1}), 0U);  // nobody is better
}

TEST(MostlyLate, EachNodeHasATask) {
  MostlyLate mostly;
  mostly.place(consecutive_placement(6, 2));
  mostly.learn({0, 0, 0, 0, 0, 0});
  for (int i = 0; i < 9; ++i) mostly.learn({0, 1, 0, 1, 0, 1});
  EXPECT_EQ(mostly.ranks(), Late(6, false));
  for (int i = 0; i < 9; ++i) mostly.learn({0, 0, 1, 1, 0, 0});  // nobody to relieve it
  EXPECT_EQ(mostly.ranks(), Late(6, false));
  for (int i = 0; i < 9; ++i) mostly.learn({0, 0, 1, 0, 0, 0});
  EXPECT_EQ(mostly.ranks(), (Late{false, false, true, false, false, false}));
}

/// Rank 1 comes an hour late once; rank 0 is late all the time.
TEST(MostlyLate, OneOutlierHidesNobody) {
  MostlyLate mostly;
  mostly.learn({0, 0, 0});
  for (int i = 0; i < 9; ++i) mostly.learn({1e-3, 0, 0});
  mostly.learn({0, 3600, 0});
  for (int i = 0; i < 50; ++i) {
    EXPECT_NE(holder(mostly), 0U);
    mostly.learn({1e-3, 0, 0});
  }
}

/// Ranks that are alike take no tasks from each other.
TEST(MostlyLate, ItHardlyChangesByChance) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> late(0, 1);
  MostlyLate mostly;
  int changes = 0;
  Late before;
  for (int call = 0; call < 2000; ++call) {
    std::vector<Seconds> lateness(16);
    for (Seconds& each : lateness) each = late(random);
    mostly.learn(lateness);
    changes += mostly.ranks() != before ? 1 : 0;
    before = mostly.ranks();
  }
  EXPECT_LE(changes, 40);
}

}  // namespace
}  // namespace latecomer
