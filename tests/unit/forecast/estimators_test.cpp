// Each estimator on the series it is for, and on one that it must get wrong.
#include "forecast/estimators.hpp"

#include <gtest/gtest.h>

#include "forecast/pattern.hpp"
#include "forecast/shift.hpp"
#include "forecast/trend.hpp"
#include "unit/forecast/histories.hpp"

namespace latecomer {
namespace {

using namespace testing;

constexpr Rank kRanks = 5;
constexpr EstimatorNumbers kNumbers;
using Values = std::vector<float>;

Values single(const Times& times) { return {times.begin(), times.end()}; }

/// The estimator's error in the call after the first `calls`, seconds.
Seconds error_after(int calls, int number, Lateness lateness) {
  Estimators estimators(kRanks);
  for (int call = 0; call < calls; ++call) estimators.add(single(lateness(call)));
  Values next(kRanks);
  estimators.predict(number, next);
  return misplacement(next, single(lateness(calls)));
}

TEST(Estimators, RepeatIsForWhatStays) {
  EXPECT_EQ(error_after(1, 0, persistent(kRanks, 3, 50)), 0);
  EXPECT_EQ(error_after(9, 0, periodic(kRanks, 3, 5, 4, 50)), 50);   // says 0, is 50
  EXPECT_EQ(error_after(10, 0, periodic(kRanks, 3, 5, 4, 50)), 50);  // says 50, is 0
}

TEST(Estimators, RepeatOfSomeCallsAgoIsForPeriods) {
  for (int period = 1; period <= 32; ++period) {
    for (int calls = period; calls < 3 * period; ++calls) {
      EXPECT_EQ(error_after(calls, period - 1, periodic(kRanks, 3, period, period / 2, 50)), 0);
    }
  }
  EXPECT_EQ(error_after(13, 3, periodic(kRanks, 3, 5, 3, 50)), 50);
}

TEST(Estimators, AveragesAreForNoiseAroundWhatStays) {
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Seconds of_last = 0;
    Seconds of_moving = 0;
    Seconds of_exponential = 0;
    for (int calls = 20; calls < 50; ++calls) {
      of_last += error_after(calls, 0, all_random(kRanks, 1, seed));
      of_moving += error_after(calls, kNumbers.moving_average(), all_random(kRanks, 1, seed));
      of_exponential +=
          error_after(calls, kNumbers.exponential_average(), all_random(kRanks, 1, seed));
    }
    EXPECT_LT(of_moving, of_last);
    EXPECT_LT(of_exponential, of_last);
  }
}

TEST(Estimators, AveragesFollowAStepSlowly) {
  const Lateness step = [](int call) { return one_late(kRanks, 2, call < 20 ? 0 : 64); };
  EXPECT_EQ(error_after(20, kNumbers.moving_average(), step), 64);
  EXPECT_EQ(error_after(22, kNumbers.moving_average(), step), 64 * 6 / 8.0);
  EXPECT_EQ(error_after(28, kNumbers.moving_average(), step), 0);
  EXPECT_EQ(error_after(22, kNumbers.exponential_average(), step), 64 * 9 / 16.0);
}

TEST(Estimators, TrendIsForRanksThatGetLater) {
  for (int calls = 3; calls < 12; ++calls) {
    EXPECT_NEAR(error_after(calls, kNumbers.trend(), growing(kRanks, 1, 2)), 0, 1e-12) << calls;
    EXPECT_NEAR(error_after(calls, kNumbers.trend(), persistent(kRanks, 1, 2)), 0, 1e-12);
  }
  EXPECT_EQ(error_after(20, 0, growing(kRanks, 1, 2)), 2);
  EXPECT_EQ(error_after(20, kNumbers.moving_average(), growing(kRanks, 1, 2)), 9);
}

TEST(Estimators, TrendDoesNotFollowAnOutlier) {
  for (int outlier = 12; outlier < 20; ++outlier) {
    const Lateness spoilt = [=](int call) {
      return one_late(kRanks, 1, call == outlier ? 1000 : 2 * call);
    };
    EXPECT_LT(error_after(20, kNumbers.trend(), spoilt), 8) << outlier;
    EXPECT_GT(error_after(20, kNumbers.moving_average(), spoilt), 100) << outlier;
  }
}

TEST(Estimators, TrendIsNotForChanges) {
  EXPECT_EQ(error_after(21, kNumbers.trend(), changing(kRanks, 20, 50, base_seed())), 100);
}

TEST(Estimators, ShiftIsForLatenessThatWanders) {
  for (Rank move = 0; move < kRanks; ++move) {
    for (int calls = 2; calls < 9; ++calls) {
      EXPECT_EQ(error_after(calls, kNumbers.shift(), wandering(kRanks, move, 50)), 0) << move;
    }
  }
  EXPECT_EQ(error_after(7, 0, wandering(kRanks, 2, 50)), 100);
}

TEST(Estimators, ShiftFindsSeveralLateRanksInNoise) {
  constexpr Rank kMany = 16;
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto pattern = [&](std::size_t at) {
      Values times = single(random_times(kMany, 1, random));
      for (const std::size_t rank : {at, at + 1, at + 5}) times[rank % kMany] += 20;
      return times;
    };
    PatternHistory history(kMany);
    history.add(pattern(4));
    history.add(pattern(7));
    Values next(kMany);
    shift(history, next);
    EXPECT_LT(misplacement(next, pattern(10)), 2);
  }
}

TEST(Estimators, ShiftIsNotForAlternation) {
  // From 0 to 1 is one on, and then it goes back.
  EXPECT_EQ(
      error_after(6, kNumbers.shift(), [](int call) { return one_late(kRanks, call % 2, 50); }),
      100);
}

TEST(Estimators, OtherNamesOfRanksAreOtherNamesInTheAnswer) {
  Random random(base_seed());
  const std::vector<std::size_t> names = {3, 0, 4, 1, 2};
  Estimators plain(kRanks);
  Estimators renamed(kRanks);
  Values next(kRanks);
  Values other(kRanks);
  for (int call = 0; call < 40; ++call) {
    SCOPED_TRACE(::testing::Message() << "seed " << base_seed() << ", call " << call);
    const Values times = single(random_times(kRanks, 1, random));
    for (std::size_t rank = 0; rank < kRanks; ++rank) other[names[rank]] = times[rank];
    plain.add(times);
    renamed.add(other);
    for (int number = 0; number < kNumbers.shift(); ++number) {
      if (!plain.ready(number)) continue;
      plain.predict(number, next);
      renamed.predict(number, other);
      for (std::size_t rank = 0; rank < kRanks; ++rank) EXPECT_EQ(next[rank], other[names[rank]]);
    }
  }
}

TEST(Estimators, AreReadyWhenTheyHaveWhatTheyNeed) {
  Estimators estimators(2);
  const auto count_ready = [&] {
    int ready = 0;
    for (int number = 0; number < kNumbers.count(); ++number) {
      ready += estimators.ready(number) ? 1 : 0;
    }
    return ready;
  };
  EXPECT_EQ(count_ready(), 0);
  estimators.add(Values{0, 1});
  EXPECT_EQ(count_ready(), 1);  // the last value
  estimators.add(Values{0, 1});
  EXPECT_EQ(count_ready(), 5);  // and that before it, two averages, shift
  for (int call = 2; call < 40; ++call) estimators.add(Values{0, 1});
  EXPECT_EQ(count_ready(), kNumbers.count());
}

TEST(Estimators, WorkForOneRank) {
  Estimators estimators(1);
  for (int call = 0; call < 40; ++call) estimators.add(Values{0});
  Values next{7};
  for (int number = 0; number < kNumbers.count(); ++number) {
    estimators.predict(number, next);
    EXPECT_EQ(next, Values{0}) << number;
  }
}

}  // namespace
}  // namespace latecomer
