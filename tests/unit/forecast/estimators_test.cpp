// Each estimator on the series it is for, and on one that it must get wrong.
#include "forecast/estimators.hpp"

#include <gtest/gtest.h>

#include "forecast/pattern.hpp"
#include "unit/forecast/histories.hpp"

namespace latecomer {
namespace {

using namespace testing;

constexpr Rank kRanks = 5;
using Values = std::vector<float>;

Values single(const Times& times) { return {times.begin(), times.end()}; }

void add(Estimators& estimators, const Values& computing, const Values& exits) {
  estimators.look_for_period(computing);
  estimators.add(computing, exits);
}

void add(Estimators& estimators, const Values& arrivals) {
  add(estimators, arrivals, Values(arrivals.size()));
}

Values predict(const Estimators& estimators, Estimator estimator, std::size_t ranks = kRanks) {
  Values room(ranks);
  const PatternView next = estimators.predict(estimator, room);
  return {next.begin(), next.end()};
}

/// The estimator's error in the call after the first `calls`, seconds.
Seconds error_after(int calls, Estimator estimator, Lateness lateness) {
  Estimators estimators(kRanks);
  for (int call = 0; call < calls; ++call) add(estimators, single(lateness(call)));
  return misplacement(predict(estimators, estimator), single(lateness(calls)));
}

TEST(Estimators, RepeatIsForWhatStays) {
  EXPECT_EQ(error_after(1, Estimator::last_value, persistent(kRanks, 3, 50)), 0);
  EXPECT_EQ(error_after(9, Estimator::last_value, periodic(kRanks, 3, 5, 4, 50)),
            50);  // says 0, is 50
  EXPECT_EQ(error_after(10, Estimator::last_value, periodic(kRanks, 3, 5, 4, 50)),
            50);  // says 50, is 0
}

TEST(Estimators, PeriodicIsForRanksThatAreLateAgainAndAgain) {
  for (int period = 2; period <= 32; ++period) {
    for (int calls = 2 * period; calls < 4 * period; ++calls) {
      const Lateness lateness = periodic(kRanks, 3, period, period / 2, 50);
      EXPECT_EQ(error_after(calls, Estimator::periodic, lateness), 0) << period << ", " << calls;
    }
  }
}

TEST(Estimators, PeriodicFindsALoopOverRanks) {
  const std::vector<Rank> loop = {0, 3, 3, 1, 3, 4, 0, 2};
  const auto lateness = [&](int call) {
    return one_late(kRanks, loop[static_cast<std::size_t>(call) % loop.size()], 50);
  };
  for (int calls = 24; calls < 48; ++calls) {
    EXPECT_EQ(error_after(calls, Estimator::periodic, lateness), 0) << calls;
  }
}

/// The period must not be that of the short repetitions inside it.
TEST(Estimators, PeriodicFindsTheCallThatDiffersAmongMany) {
  for (int period = 3; period <= 16; ++period) {
    const auto lateness = [&](int call) {
      return one_late(kRanks, call % period == 2 ? 1 : 4, 50);
    };
    for (int calls = 64; calls < 100; ++calls) {
      EXPECT_EQ(error_after(calls, Estimator::periodic, lateness), 0) << period << ", " << calls;
    }
  }
}

TEST(Estimators, TheAverageIsForNoiseAroundWhatStays) {
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Seconds of_last = 0;
    Seconds of_average = 0;
    for (int calls = 20; calls < 50; ++calls) {
      of_last += error_after(calls, Estimator::last_value, all_random(kRanks, 1, seed));
      of_average += error_after(calls, Estimator::computing_average, all_random(kRanks, 1, seed));
    }
    EXPECT_LT(of_average, of_last);
  }
}

TEST(Estimators, TheAverageFollowsAStepSlowly) {
  const Lateness step = [](int call) { return one_late(kRanks, 2, call < 20 ? 0 : 64); };
  EXPECT_EQ(error_after(20, Estimator::computing_average, step), 64);
  EXPECT_EQ(error_after(22, Estimator::computing_average, step), 64 * 9 / 16.0);
}

TEST(Estimators, TrendIsForRanksThatGetLater) {
  for (int calls = 4; calls < 12; ++calls) {
    EXPECT_NEAR(error_after(calls, Estimator::trend, growing(kRanks, 1, 2)), 0, 1e-12) << calls;
    EXPECT_NEAR(error_after(calls, Estimator::trend, persistent(kRanks, 1, 2)), 0, 1e-12);
  }
  EXPECT_EQ(error_after(20, Estimator::last_value, growing(kRanks, 1, 2)), 2);
  EXPECT_GT(error_after(20, Estimator::computing_average, growing(kRanks, 1, 2)), 7);
}

TEST(Estimators, TrendDoesNotFollowAnOutlier) {
  for (int outlier = 12; outlier < 20; ++outlier) {
    const Lateness spoilt = [=](int call) {
      return one_late(kRanks, 1, call == outlier ? 1000 : 2 * call);
    };
    EXPECT_LT(error_after(20, Estimator::trend, spoilt), 8) << outlier;
    EXPECT_GT(error_after(20, Estimator::computing_average, spoilt), 20) << outlier;
  }
}

TEST(Estimators, TrendIsNotForChanges) {
  EXPECT_EQ(error_after(21, Estimator::trend, changing(kRanks, 20, 50, base_seed())), 100);
}

TEST(Estimators, ShiftIsForLatenessThatWanders) {
  for (Rank move = 0; move < kRanks; ++move) {
    for (int calls = 2; calls < 9; ++calls) {
      EXPECT_EQ(error_after(calls, Estimator::shift, wandering(kRanks, move, 50)), 0) << move;
    }
  }
  EXPECT_EQ(error_after(7, Estimator::last_value, wandering(kRanks, 2, 50)), 100);
}

/// Noise changes which of several late ranks is the last one, so this is not for the shift.
TEST(Estimators, PeriodicFindsSeveralLateRanksThatMoveOnInNoise) {
  constexpr Rank kMany = 16;
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto pattern = [&](std::size_t at) {
      Values times = single(random_times(kMany, 1, random));
      for (const std::size_t rank : {at, at + 1, at + 5}) times[rank % kMany] += 20;
      return times;
    };
    Estimators estimators(kMany);
    for (std::size_t call = 0; call < 33; ++call) add(estimators, pattern(3 * call));
    const Values next = predict(estimators, Estimator::periodic, kMany);
    EXPECT_LT(misplacement(next, pattern(3 * 33UL)), 3.0F);
  }
}

TEST(Estimators, ComputingTimesAreForExitsThatChange) {
  Estimators estimators(2);
  for (int call = 0; call < 40; ++call) {
    const float exit = static_cast<float>(call % 7);
    add(estimators, Values{0, 5}, Values{0, exit});
  }
  const float last_exit = 39 % 7;
  EXPECT_EQ(predict(estimators, Estimator::computing_average, 2), (Values{0, 5 + last_exit}));
}

TEST(Estimators, ShiftIsNotForAlternation) {
  // From 0 to 1 is one on, and then it goes back.
  EXPECT_EQ(
      error_after(6, Estimator::shift, [](int call) { return one_late(kRanks, call % 2, 50); }),
      100);
}

TEST(Estimators, SoAreTheirPeriods) {
  Random random(base_seed());
  Estimators estimators(2);
  float exit = 0;
  for (int call = 0; call < 60; ++call) {
    if (call % 20 == 0) exit = static_cast<float>(9 * random.uniform());
    add(estimators, Values{0, call % 4 == 0 ? 8.0F : 0.0F}, Values{0, exit});
  }
  const Values next = predict(estimators, Estimator::computing_periodic, 2);
  EXPECT_NEAR(next[1] - next[0], 8 + exit, 1e-5);
}

TEST(Estimators, OtherNamesOfRanksAreOtherNamesInTheAnswer) {
  Random random(base_seed());
  const std::vector<std::size_t> names = {3, 0, 4, 1, 2};
  Estimators plain(kRanks);
  Estimators renamed(kRanks);
  Values other(kRanks);
  for (int call = 0; call < 40; ++call) {
    SCOPED_TRACE(::testing::Message() << "seed " << base_seed() << ", call " << call);
    const Values times = single(random_times(kRanks, 1, random));
    for (std::size_t rank = 0; rank < kRanks; ++rank) other[names[rank]] = times[rank];
    add(plain, times);
    add(renamed, other);
    for (const Estimator one :
         {Estimator::last_value, Estimator::periodic, Estimator::computing_periodic,
          Estimator::computing_average, Estimator::trend}) {
      const Values next = predict(plain, one);
      const Values of_renamed = predict(renamed, one);
      ASSERT_EQ(next.size(), of_renamed.size());
      for (std::size_t rank = 0; rank < next.size(); ++rank) {
        EXPECT_EQ(next[rank], of_renamed[names[rank]]);
      }
    }
  }
}

/// The number of estimators that predict something.
std::size_t count_ready(const Estimators& estimators) {
  std::size_t ready = 0;
  for (std::size_t i = 0; i < kEstimators.size(); ++i) {
    ready += predict(estimators, static_cast<Estimator>(i), 2).empty() ? 0 : 1;
  }
  return ready;
}

TEST(Estimators, AreReadyWhenTheyHaveWhatTheyNeed) {
  Estimators estimators(2);
  EXPECT_EQ(count_ready(estimators), 0u);
  add(estimators, Values{0, 1});
  EXPECT_EQ(count_ready(estimators), 1u);  // the last value
  add(estimators, Values{0, 1});
  EXPECT_EQ(count_ready(estimators), 3u);  // and average, shift
  for (int call = 2; call < 40; ++call) add(estimators, Values{0, 1});
  EXPECT_EQ(count_ready(estimators), kEstimators.size());
}

TEST(Estimators, WorkForOneRank) {
  Estimators estimators(1);
  for (int call = 0; call < 40; ++call) add(estimators, Values{0});
  for (std::size_t i = 0; i < kEstimators.size(); ++i) {
    const Values next = predict(estimators, static_cast<Estimator>(i), 1);
    EXPECT_TRUE(next.empty() || next == Values{0}) << kEstimators.at(i);
  }
}

}  // namespace
}  // namespace latecomer
