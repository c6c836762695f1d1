// Estimates that hardly differ seldom give another pattern, and so another plan.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "forecast/forecast.hpp"
#include "forecast/pattern.hpp"
#include "unit/forecast/histories.hpp"

namespace latecomer {
namespace {

using namespace testing;
using Values = std::vector<float>;

Times snap(ArrivalGrid& grid, const Values& arrivals, Seconds min_step = 0, Seconds error = 0) {
  Times snapped = {1, 2, 3, 4};  // of an earlier call
  grid.snap(arrivals, min_step, error, snapped);
  return snapped;
}

Times snapped(const Values& arrivals, Seconds min_step = 0) {
  ArrivalGrid grid;
  return snap(grid, arrivals, min_step);
}

TEST(ArrivalGrid, StepsArePowersOfTwoFromA32ndOfTheImbalanceUp) {
  EXPECT_EQ(snapped({0, 32}), (Times{0, 32}));        // step 1
  EXPECT_EQ(snapped({0, 3, 33}), (Times{0, 4, 34}));  // step 2
  EXPECT_EQ(snapped({0, 0.3F, 8}), (Times{0, 0.25, 8}));
}

TEST(ArrivalGrid, NotBelowTheLeastStep) {
  EXPECT_EQ(snapped({0, 3, 8}, 3), (Times{0, 4, 8}));  // step 4
  EXPECT_EQ(snapped({0, 1, 8}, 4), (Times{0, 0, 8}));
  EXPECT_EQ(snapped({0, 1, 3}, 8), Times{});  // all together
}

TEST(ArrivalGrid, NothingLateIsTogether) {
  EXPECT_EQ(snapped({0, 0, 0}), Times{});
  EXPECT_EQ(snapped({0}), Times{});
}

TEST(ArrivalGrid, RoundsByHalfAStepAtMost) {
  Random random(base_seed());
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE(::testing::Message() << "seed " << base_seed() << ", round " << round);
    const Times times = random_times(9, std::exp2(40 * random.uniform() - 30), random);
    const Values arrivals(times.begin(), times.end());
    const Times grid = snapped(arrivals);
    EXPECT_LE(misplacement(Values(grid.begin(), grid.end()), arrivals),
              imbalance(arrivals) / 16 * 1.001F);
  }
}

TEST(ArrivalGrid, SaysTheSameWithinOneStep) {
  ArrivalGrid grid;
  const auto say = [&](const Values& arrivals) { return snap(grid, arrivals); };
  const Times first = say({0, 10.4F, 32});
  EXPECT_EQ(first, (Times{0, 10, 32}));
  EXPECT_EQ(say({0, 10.6F, 32}), first);  // across the border
  EXPECT_EQ(say({0, 9.5F, 33}), first);   // step 2, if it were new
  EXPECT_EQ(say({0, 10, 30.5F}), first);  // that late, if all others come half a step earlier
  EXPECT_EQ(say({0, 12.5F, 32}), (Times{0, 13, 32}));
  EXPECT_EQ(say({0, 0, 0}), Times{});
}

TEST(ArrivalGrid, SaysTheSameWhereEstimatesAreOffByMore) {
  ArrivalGrid grid;
  const Times first = snap(grid, {0, 10, 32});
  EXPECT_EQ(snap(grid, {0, 14, 32}, 0, 2), first);
  EXPECT_NE(snap(grid, {0, 14.1F, 32}, 0, 2), first);
}

/// Patterns that plans are made of in 100 calls whose ranks come one after the other, each late
/// by `noise` of its lateness more or less.
std::size_t patterns(Rank ranks, double noise, std::uint64_t seed) {
  Random random(seed);
  Forecasts forecasts(ranks);
  std::set<Times> all;
  for (int call = 0; call < 120; ++call) {
    const HistoryKey history = forecasts.enter(1);
    const Times expected = forecasts.expect(history);
    if (call >= 20) all.insert(expected);
    EXPECT_TRUE(call < 20 || noise > 0.05 || !expected.empty()) << call;
    Times arrivals;
    for (Rank rank = 0; rank < ranks; ++rank) {
      double normal = -6;
      for (int i = 0; i < 12; ++i) normal += random.uniform();
      arrivals.push_back(call + 4e-3 * (rank + 1) * (1 + noise * normal));
    }
    forecasts.observe(history, {arrivals, Times(arrivals.size(), call - 0.5)});
  }
  return all.size();
}

TEST(ArrivalGrid, RanksThatComeAsBeforeGiveOnePattern) {
  for (const Rank ranks : {2, 6, 48}) EXPECT_EQ(patterns(ranks, 0, base_seed()), 1u) << ranks;
}

TEST(ArrivalGrid, NoiseGivesFewPatterns) {
  for (const Rank ranks : {6, 48}) {
    std::size_t little = 0;
    std::size_t much = 0;
    for (std::uint64_t seed = base_seed(); seed < base_seed() + 10; ++seed) {
      little += patterns(ranks, 0.02, seed);
      much += patterns(ranks, 0.1, seed);
    }
    EXPECT_LE(little, 13u) << ranks << " ranks, seed " << base_seed();
    EXPECT_LE(much, 80u) << ranks << " ranks, seed " << base_seed();
  }
}

}  // namespace
}  // namespace latecomer
