// The patterns that the estimators must find together, and those that they must not. A failure
// prints its seed.
#include "forecast/forecast.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "forecast/pattern.hpp"
#include "unit/forecast/histories.hpp"

namespace latecomer {
namespace {

using namespace testing;

constexpr Seconds kDelay = 0.05;

/// The forecast and the actual arrivals of a call.
struct Step {
  Estimate estimate;
  Times actual;

  [[nodiscard]] bool right() const {
    return misplacement(estimate.arrivals, actual) < imbalance(actual) / 2;
  }
  [[nodiscard]] bool trusted_and_right() const { return estimate.trusted && right(); }
};

struct Setting {
  Rank ranks;
  Seconds noise;
  std::uint64_t seed;
};

std::vector<Step> run(const Setting& setting, Lateness lateness, int calls) {
  Forecast forecast(setting.ranks);
  Loop loop(setting.ranks, setting.noise, setting.seed);
  std::vector<Step> steps;
  for (int call = 0; call < calls; ++call) {
    const Observation seen = loop.call(lateness(call));
    steps.push_back({forecast.next(), seen.arrivals});
    forecast.observe(seen);
  }
  return steps;
}

std::vector<Setting> settings(std::initializer_list<Rank> all_ranks, Seconds noise) {
  Random seeds(base_seed());
  std::vector<Setting> all;
  for (const Rank ranks : all_ranks) {
    for (int i = 0; i < 10; ++i) all.push_back({ranks, i == 0 ? 0 : noise, seeds.next()});
  }
  return all;
}

std::string words(const Setting& setting) {
  return std::to_string(setting.ranks) + " ranks, noise " + std::to_string(setting.noise) +
         ", seed " + std::to_string(setting.seed);
}

void expect_found(const std::vector<Step>& steps, int from, int to) {
  for (int call = from; call < to; ++call) {
    const Step& step = steps[static_cast<std::size_t>(call)];
    EXPECT_TRUE(step.trusted_and_right()) << "call " << call << ", " << step.estimate.method;
  }
}

double share_trusted(const std::vector<Step>& steps, std::size_t from) {
  const auto trusted = std::count_if(steps.begin() + static_cast<std::ptrdiff_t>(from), steps.end(),
                                     [](const Step& step) { return step.estimate.trusted; });
  return static_cast<double>(trusted) / static_cast<double>(steps.size() - from);
}

TEST(Forecast, APersistentLateRankIsTrustedAfterFourObservations) {
  for (const Setting& setting : settings({2, 3, 8, 48}, kDelay / 10)) {
    SCOPED_TRACE(words(setting));
    expect_found(run(setting, persistent(setting.ranks, setting.ranks / 2, kDelay), 100), 4, 100);
  }
}

TEST(Forecast, SoIsOneThatBecomesLateAfterBalancedCalls) {
  for (const Setting& setting : settings({2, 3, 8, 48}, kDelay / 50)) {
    SCOPED_TRACE(words(setting));
    const auto steps = run(
        setting, [&](int call) { return one_late(setting.ranks, 1, call < 50 ? 0 : kDelay); }, 100);
    expect_found(steps, 54, 100);
  }
}

TEST(Forecast, SoIsOneAfterAFirstCallLikeNoOther) {
  for (const Setting& setting : settings({2, 3, 8, 48}, kDelay / 10)) {
    SCOPED_TRACE(words(setting));
    const auto steps = run(
        setting,
        [&](int call) {
          return one_late(setting.ranks, call == 0 ? 0 : 1, call == 0 ? 100 * kDelay : kDelay);
        },
        60);
    expect_found(steps, 5, 60);
  }
}

TEST(Forecast, AChangeOfTheLateRankCostsThreeCalls) {
  for (const Setting& setting : settings({2, 3, 8, 48}, kDelay / 10)) {
    SCOPED_TRACE(words(setting));
    const auto steps = run(setting, changing(setting.ranks, 20, kDelay, setting.seed), 200);
    for (int change = 20; change < 200; change += 20) expect_found(steps, change + 3, change + 20);
  }
}

/// Three periods are seen, and from then on each of its late calls is known before.
void expect_period_found(const Setting& setting, int period) {
  const int first = static_cast<int>(setting.seed % static_cast<std::uint64_t>(period));
  SCOPED_TRACE(words(setting) + ", period " + std::to_string(period));
  const auto steps =
      run(setting, periodic(setting.ranks, setting.ranks - 1, period, first, kDelay), 8 * period);
  for (int late = first + 3 * period; late < 8 * period; late += period) {
    expect_found(steps, late, late + 1);
    if (period < 3) continue;
    const Step& balanced = steps[static_cast<std::size_t>(late - 1)];
    EXPECT_LE(misplacement(balanced.estimate.arrivals, balanced.actual), kDelay / 5);
  }
}

TEST(Forecast, ARankLateInEveryKthCallIsFoundWithinThreePeriods) {
  for (int period = 2; period <= 32; ++period) {
    for (const Setting& setting : settings({2, 8}, kDelay / 100)) {
      expect_period_found(setting, period);
    }
  }
}

TEST(Forecast, ShortPeriodsAreFoundInMoreNoise) {
  for (const int period : {2, 3, 4, 6}) {
    for (const Setting& setting : settings({8, 48}, kDelay / 10)) {
      expect_period_found(setting, period);
    }
  }
}

TEST(Forecast, RanksThatGetLaterAreAheadOfTheirLastValue) {
  const Seconds step = kDelay / 10;
  for (const Setting& setting : settings({2, 3, 8, 48}, step / 10)) {
    SCOPED_TRACE(words(setting));
    const auto steps = run(setting, growing(setting.ranks, 1, step), 60);
    expect_found(steps, 12, 60);
    for (int call = 12; call < 60; ++call) {
      const Step& at = steps[static_cast<std::size_t>(call)];
      EXPECT_LT(misplacement(at.estimate.arrivals, at.actual), step / 2) << call;
    }
  }
}

TEST(Forecast, LatenessThatWandersIsFollowed) {
  for (const Setting& setting : settings({3, 8, 48}, kDelay / 20)) {
    for (const Rank move : {1, 2, setting.ranks - 1}) {
      SCOPED_TRACE(words(setting) + ", move " + std::to_string(move));
      expect_found(run(setting, wandering(setting.ranks, move, kDelay), 100), 8, 100);
    }
  }
}

constexpr int kLong = 3000;

TEST(Forecast, AfterManyBalancedCallsALateRankIsFoundAsSoon) {
  for (const Setting& setting : settings({2, 8, 48}, kDelay / 50)) {
    SCOPED_TRACE(words(setting));
    const Lateness late = [&](int call) {
      return one_late(setting.ranks, 1, call < kLong ? 0 : kDelay);
    };
    expect_found(run(setting, late, kLong + 100), kLong + 4, kLong + 100);
  }
}

TEST(Forecast, AfterManyCallsLikeOneAnotherAChangeCostsThree) {
  for (const Setting& setting : settings({2, 3, 8, 48}, kDelay / 10)) {
    SCOPED_TRACE(words(setting));
    const Lateness late = [&](int call) {
      return one_late(setting.ranks, call < kLong ? 0 : 1, kDelay);
    };
    expect_found(run(setting, late, kLong + 100), kLong + 3, kLong + 100);
  }
}

TEST(Forecast, AfterManyBalancedCallsAPeriodIsFound) {
  for (const int period : {2, 7, 32}) {
    for (const Setting& setting : settings({2, 8}, kDelay / 100)) {
      SCOPED_TRACE(words(setting) + ", period " + std::to_string(period));
      const Lateness late = [&](int call) {
        return one_late(setting.ranks, 1, call >= kLong && call % period == 0 ? kDelay : 0);
      };
      const int found = kLong + 4 * period;
      const auto steps = run(setting, late, found + 10 * period);
      for (int call = found; call < found + 10 * period; ++call) {
        if (call % period == 0) expect_found(steps, call, call + 1);
      }
    }
  }
}

TEST(Forecast, AfterManyRandomCallsALateRankIsFound) {
  for (const Setting& setting : settings({2, 8, 48}, kDelay / 50)) {
    SCOPED_TRACE(words(setting));
    const Lateness random = all_random(setting.ranks, kDelay, setting.seed);
    const Lateness late = [&](int call) {
      return call < kLong ? random(call) : one_late(setting.ranks, 1, kDelay);
    };
    expect_found(run(setting, late, kLong + 150), kLong + 100, kLong + 150);
  }
}

TEST(Forecast, KeepsFewerPatternsOfMoreRanks) {
  EXPECT_EQ(Forecast::depth(1), 32);
  EXPECT_EQ(Forecast::depth(40), 32);
  for (Rank ranks = 1; ranks < 1 << 20; ranks = 3 * ranks / 2 + 1) {
    const int depth = Forecast::depth(ranks);
    EXPECT_GE(depth, Forecast::depth(2 * ranks)) << ranks;
    EXPECT_GE(depth, 2);
  }
  for (const Rank ranks : {2, 256, 4096, 100000}) {
    Forecast forecast(ranks);
    EXPECT_LE(Forecast::memory(ranks), Forecast::allowance(ranks)) << ranks;
    const Times late = one_late(ranks, 1, kDelay);
    for (int call = 0; call < 5; ++call) forecast.observe({late, {}});
    EXPECT_TRUE(forecast.trusted());
  }
}

TEST(Forecast, LatenessWithoutMemoryIsHardlyEverTrusted) {
  const auto all = settings({2, 3, 4, 8, 48}, kDelay / 100);
  double mean = 0;
  for (const Setting& setting : all) {
    SCOPED_TRACE(words(setting));
    for (const Lateness& lateness : {all_random(setting.ranks, kDelay, setting.seed),
                                     one_random(setting.ranks, kDelay, setting.seed)}) {
      const double share = share_trusted(run(setting, lateness, 400), 50);
      EXPECT_LE(share, 0.05);
      mean += share / 2 / static_cast<double>(all.size());
    }
  }
  EXPECT_LE(mean, 0.01) << "seed " << base_seed();
}

TEST(Forecast, WhatIsNotTrustedIsBalanced) {
  for (const Step& step : run({8, 0, base_seed()}, all_random(8, kDelay, base_seed()), 100)) {
    EXPECT_EQ(step.estimate.trusted, imbalance(step.estimate.arrivals) > 0);
  }
}

TEST(Forecast, ComputingTimeIsTheSignalWhereExitsChange) {
  constexpr Rank ranks = 16;
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 10; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    Forecast forecast(ranks);
    Loop loop(ranks, kDelay / 2, seed);
    const Times late = random_times(ranks, kDelay, random);
    Times exits;
    int by_computing = 0;
    for (int call = 0; call < 120; ++call) {
      if (call % 5 == 0) exits = random_times(ranks, 2 * kDelay, random);
      forecast.observe(loop.call(late, exits));
      by_computing += forecast.next().method.starts_with("computing") ? 1 : 0;
    }
    EXPECT_GT(by_computing, 60);
  }
}

TEST(Forecast, WhereExitsChangeNowAndThenItIsMostlyRightInTheLongRun) {
  constexpr Rank ranks = 16;
  constexpr int calls = 1000;
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 10; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    Forecast forecast(ranks);
    Loop loop(ranks, kDelay / 5, seed);
    const Times late = random_times(ranks, kDelay, random);
    Times exits;
    int right = 0;
    for (int call = 0; call < calls; ++call) {
      if (call % 20 == 0) exits = random_times(ranks, 2 * kDelay, random);
      const Observation seen = loop.call(late, exits);
      right += Step{forecast.next(), seen.arrivals}.trusted_and_right() ? 1 : 0;
      forecast.observe(seen);
    }
    EXPECT_GT(right, calls * 4 / 5);
  }
}

/// Series of several kinds, one after the other.
std::vector<Times> mixed_series(Rank ranks, std::uint64_t seed) {
  Random random(seed);
  const std::vector<Lateness> kinds = {
      persistent(ranks, 1, kDelay),    growing(ranks, 2, kDelay / 10),
      wandering(ranks, 3, kDelay),     periodic(ranks, 3, 4, 1, kDelay),
      all_random(ranks, kDelay, seed), changing(ranks, 20, kDelay, seed)};
  std::vector<Times> series;
  for (Lateness kind : kinds) {
    for (int call = 0; call < 40; ++call) {
      Times times = kind(call);
      for (Seconds& time : times) time += kDelay / 20 * random.uniform();
      series.push_back(times);
    }
  }
  return series;
}

TEST(Forecast, WhatAllRanksHaveInCommonChangesNothing) {
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 5; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    Forecast plain(8);
    Forecast moved(8);
    for (const Times& series : mixed_series(8, seed)) {
      // In steps of 2^-30, so that sums are exact and both see the same bits.
      Observation seen{series, {}};
      for (Seconds& time : seen.arrivals) time = std::round(time * 0x1p30) / 0x1p30;
      plain.observe(seen);
      const Seconds offset = static_cast<Seconds>(random.below(1000000)) - 500000;
      for (Seconds& time : seen.arrivals) time += offset;
      moved.observe(seen);
      EXPECT_EQ(plain.next().arrivals, moved.next().arrivals);
      EXPECT_EQ(plain.next().trusted, moved.next().trusted);
      EXPECT_EQ(plain.next().method, moved.next().method);
    }
  }
}

/// Only the shift among the estimators looks at the numbers of ranks, and turning them does not
/// disturb it.
TEST(Forecast, RanksNumberedFromAnotherOneGiveTheSameForecast) {
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 5; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Forecast plain(8);
    Forecast turned(8);
    int trusted = 0;
    for (Times series : mixed_series(8, seed)) {
      plain.observe({series, {}});
      std::rotate(series.begin(), series.begin() + 3, series.end());
      turned.observe({series, {}});
      Estimate one = plain.next();
      const Estimate other = turned.next();
      std::rotate(one.arrivals.begin(), one.arrivals.begin() + 3, one.arrivals.end());
      ASSERT_EQ(one.arrivals, other.arrivals);
      ASSERT_EQ(one.method, other.method);
      ASSERT_EQ(one.trusted, other.trusted);
      trusted += one.trusted ? 1 : 0;
    }
    EXPECT_GT(trusted, 60);
  }
}

TEST(Forecast, BeforeAnyObservationNothingIsKnown) {
  const Estimate estimate = Forecast(3).next();
  EXPECT_EQ(estimate.arrivals, Times(3));
  EXPECT_FALSE(estimate.trusted);
  EXPECT_EQ(estimate.method, "none");
}

TEST(Forecast, OneRankIsBalanced) {
  for (const Step& step : run({1, kDelay, base_seed()}, persistent(1, 0, kDelay), 50)) {
    EXPECT_EQ(step.estimate.arrivals, Times(1));
    EXPECT_FALSE(step.estimate.trusted);
  }
}

TEST(Forecast, ManyRanks) {
  expect_found(run({1024, kDelay / 10, base_seed()}, persistent(1024, 700, kDelay), 10), 4, 10);
}

TEST(Forecast, BadInputIsAnErrorAndLeavesNoTrace) {
  Forecast forecast(2);
  for (int call = 0; call < 5; ++call) forecast.observe({{0, kDelay}, {}});
  EXPECT_THROW(forecast.observe({{0, std::numeric_limits<Seconds>::quiet_NaN()}, {}}), Error);
  EXPECT_THROW(forecast.observe({{0, 1}, {0, std::numeric_limits<Seconds>::infinity()}}), Error);
  EXPECT_THROW(forecast.observe({{0, 1, 2}, {}}), Error);
  EXPECT_EQ(forecast.next().arrivals[0], 0);
  EXPECT_NEAR(forecast.next().arrivals[1], kDelay, 1e-6);
  EXPECT_TRUE(forecast.next().trusted);
  EXPECT_THROW(Forecast(0), Error);
}

}  // namespace
}  // namespace latecomer
