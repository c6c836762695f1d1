#include "telemetry/call_series.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/reproducible.hpp"

namespace latecomer {
namespace {

using Times = std::vector<std::vector<Seconds>>;

std::vector<Seconds> all_leave_after(const std::vector<Seconds>& arrivals, Seconds seconds) {
  return std::vector<Seconds>(arrivals.size(), std::ranges::max(arrivals) + seconds);
}

std::vector<Seconds> each_leaves_after(std::vector<Seconds> arrivals, Seconds seconds) {
  for (Seconds& arrival : arrivals) arrival += seconds;
  return arrivals;
}

/// Calls that ranks enter a random time after they left the one before.
CallSeries some_calls(std::uint64_t seed, const ExitsOf& exits_of) {
  Random random(seed);
  CallSeries series;
  std::vector<Seconds> arrivals(5, 100);
  for (int call = 0; call < 4; ++call) {
    for (Seconds& arrival : arrivals) arrival += random.uniform();
    series.arrivals.push_back(arrivals);
    arrivals = exits_of(arrivals);
    series.exits.push_back(arrivals);
  }
  return series;
}

TEST(LastCalls, KeepsTheLastFew) {
  LastCalls calls;
  EXPECT_EQ(calls.size(), 0U);
  for (int call = 0; call < 10; ++call) calls.note({1e5 + 2 * call, 1e5 + 2 * call + 0.5});
  ASSERT_EQ(calls.size(), LastCalls::kMost);
  for (std::size_t ago = 0; ago < LastCalls::kMost; ++ago) {
    EXPECT_NEAR(calls.ago(ago).arrival, 1e5 + 2.0 * (9 - static_cast<double>(ago)), 1e-6);
    EXPECT_NEAR(calls.ago(ago).exit - calls.ago(ago).arrival, 0.5, 1e-6);
  }
  calls.shift(-1e5);
  EXPECT_NEAR(calls.ago(0).exit, 18.5, 1e-6);
  calls.clear();
  EXPECT_EQ(calls.size(), 0U);
}

TEST(CallSeries, HasTheCallsThatAllRanksNoted) {
  std::vector<LastCalls> ranks(2);
  for (int call = 0; call < 3; ++call) {
    ranks[0].note({call + 0.25, call + 0.5});
    if (call > 0) ranks[1].note({call + 0.25, call + 0.75});
  }
  const CallSeries series = series_of(ranks);
  EXPECT_EQ(series.arrivals, (Times{{1.25, 1.25}, {2.25, 2.25}}));
  EXPECT_EQ(series.exits, (Times{{1.5, 1.75}, {2.5, 2.75}}));
  EXPECT_EQ(series.length(), 1.5);
  ranks.emplace_back();
  EXPECT_EQ(series_of(ranks).calls(), 0U);
}

TEST(CallSeries, CostsWhatTheLastRankTakesIfAllWaitForEachOther) {
  const CallSeries series{{{0, 1}, {5, 5}}, {{2, 4}, {6, 7}}};
  EXPECT_DOUBLE_EQ(mean_cost(series, 1), (3 + 2) / 2.0);
}

/// Rank 1 computes longest, and could be at 1 + 1 + 4 if calls took no time.
TEST(CallSeries, CostsWhatIsLostAgainstCallsThatTakeNoTimeIfEachGoesOnByItself) {
  const CallSeries series{{{0, 1}, {3, 8}}, {{2, 4}, {9, 8.5}}};
  EXPECT_DOUBLE_EQ(mean_cost(series, 0), (9 - (1 + 4)) / 2.0);
  EXPECT_DOUBLE_EQ(mean_cost(series, 0.5), (mean_cost(series, 0) + mean_cost(series, 1)) / 2);
}

TEST(CallSeries, CostsNothingIfNobodyStaysInACall) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const CallSeries series =
        some_calls(seed, [](const auto& arrivals) { return each_leaves_after(arrivals, 0); });
    EXPECT_NEAR(mean_cost(series, 0), 0, 1e-9);
  }
}

TEST(CallSeries, IsTheSameIfReplayedAsItWas) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const ExitsOf exits = [](const auto& arrivals) { return all_leave_after(arrivals, 0.125); };
    const CallSeries series = some_calls(seed, exits);
    for (const double synchrony : {0.0, 0.3, 1.0}) {
      const CallSeries again = replayed(std::span(&series, 1), 8, synchrony, exits);
      for (std::size_t call = 0; call < series.calls(); ++call) {
        for (std::size_t rank = 0; rank < 5; ++rank) {
          EXPECT_NEAR(again.arrivals[call][rank], series.arrivals[call][rank], 1e-9);
          EXPECT_NEAR(again.exits[call][rank], series.exits[call][rank], 1e-9);
        }
      }
    }
  }
}

TEST(CallSeries, ReplayedGoesOnFromOneToTheNextAndLeavesOutTheFirst) {
  const ExitsOf exits = [](const auto& arrivals) { return each_leaves_after(arrivals, 1); };
  const std::vector<CallSeries> two = {some_calls(1, exits), some_calls(2, exits)};
  EXPECT_EQ(replayed(two, 100, 0, exits).calls(), 7U);
  const CallSeries last = replayed(two, 3, 0, exits);
  ASSERT_EQ(last.calls(), 3U);
  for (std::size_t call = 0; call < 3; ++call) {
    for (std::size_t rank = 0; rank < 5; ++rank)
      EXPECT_NEAR(last.arrivals[call][rank], two[1].arrivals[call + 1][rank], 1e-9);
  }
}

/// In calls that nobody waits in, lateness of others does not add up.
TEST(CallSeries, ReplayedSaysWhatAnotherWayWouldHaveCost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const CallSeries waited =
        some_calls(seed, [](const auto& arrivals) { return all_leave_after(arrivals, 0.1); });
    const ExitsOf alone = [](const auto& arrivals) { return each_leaves_after(arrivals, 0.1); };
    EXPECT_NEAR(mean_cost(replayed(std::span(&waited, 1), 8, 0, alone), 0), 0.1, 1e-9);
    EXPECT_GT(mean_cost(waited, 0), 0.11);
  }
}

}  // namespace
}  // namespace latecomer
