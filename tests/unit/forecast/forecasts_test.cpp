#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "forecast/forecast.hpp"
#include "unit/forecast/histories.hpp"

namespace latecomer {
namespace {

using namespace testing;

constexpr Rank kGroup = 4;
constexpr Seconds kLateBy = 0.05;

/// Makes the loop's calls; a small letter is the same key, with a late rank. Returns the estimate
/// for each call of the last round.
std::vector<Estimate> rounds(Forecasts& forecasts, std::string_view loop, int times) {
  Loop program(kGroup, kLateBy / 20, base_seed());
  std::vector<Estimate> estimates;
  for (int round = 0; round < times; ++round) {
    estimates.clear();
    for (const char letter : loop) {
      const bool late = letter >= 'a';
      const HistoryKey history = forecasts.enter(static_cast<CallKey>(late ? letter - 32 : letter));
      estimates.push_back(forecasts.next(history));
      forecasts.observe(history, program.call(one_late(kGroup, 2, late ? kLateBy : 0)));
    }
  }
  return estimates;
}

Rank latest(const Estimate& estimate) {
  const auto last = std::max_element(estimate.arrivals.begin(), estimate.arrivals.end());
  return static_cast<Rank>(last - estimate.arrivals.begin());
}

bool knows_it(const Estimate& estimate) {
  return estimate.trusted && latest(estimate) == 2 && estimate.arrivals[2] > kLateBy * 0.8;
}

TEST(Forecasts, EachKeyHasItsOwn) {
  Forecasts forecasts(kGroup);
  const auto estimates = rounds(forecasts, "AbC", 5);
  EXPECT_FALSE(knows_it(estimates[0]));
  EXPECT_TRUE(knows_it(estimates[1]));
  EXPECT_FALSE(knows_it(estimates[2]));
}

TEST(Forecasts, SoHasEachPlaceOfAKey) {
  Forecasts forecasts(kGroup);
  const auto estimates = rounds(forecasts, "aABC", 7);
  EXPECT_TRUE(knows_it(estimates[0]));
  // Told apart by the place, not by a period.
  EXPECT_FALSE(estimates[0].method.ends_with("periodic")) << estimates[0].method;
  EXPECT_FALSE(knows_it(estimates[1]));
  EXPECT_FALSE(knows_it(estimates[2]));
}

TEST(Forecasts, KeysAloneCannotTellEqualCallsApart) {
  Forecasts forecasts(kGroup);
  const auto estimates = rounds(forecasts, "aAAAAAAAAAAAAAAA", 5);
  EXPECT_TRUE(knows_it(estimates[0]));
  EXPECT_TRUE(estimates[0].method.ends_with("periodic")) << estimates[0].method;
  for (std::size_t call = 1; call < estimates.size(); ++call)
    EXPECT_FALSE(knows_it(estimates[call])) << call;
}

TEST(Forecasts, ANewPlaceIsToldWhatItsKeyDid) {
  Forecasts forecasts(kGroup);
  rounds(forecasts, "aa", 10);
  EXPECT_TRUE(knows_it(forecasts.next({'A', 3, 1})));
  EXPECT_FALSE(forecasts.next({'B', 3, 2}).trusted);
}

TEST(Forecasts, EachOfManyKindsIsForecastSoon) {
  for (const CallKey kinds : {10U, 18U, 30U}) {
    Forecasts forecasts(kGroup);
    const auto round = [&] {
      int known = 0;
      for (CallKey key = 0; key < kinds; ++key) {
        const HistoryKey history = forecasts.enter(key);
        known += forecasts.expect(history) == std::vector<Seconds>{0, 0, 0, 1} ? 1 : 0;
        forecasts.observe(history, {{0, 0, 0, 1}, {}});
      }
      return known;
    };
    for (int i = 0; i < 12; ++i) round();
    EXPECT_EQ(round(), static_cast<int>(kinds));
    // So is one that comes later.
    const CallKey late = 1000;
    for (int i = 0; i < 12; ++i) forecasts.observe({late}, {{0, 1, 0, 0}, {}});
    EXPECT_EQ(forecasts.expect({late}), (std::vector<Seconds>{0, 1, 0, 0})) << kinds;
  }
}

TEST(Forecasts, HistoriesInUseStayAndIdleOnesGo) {
  constexpr CallKey kKinds = 120;  // more than there is room for
  Forecasts forecasts(kGroup);
  const auto observe = [&](CallKey key) { forecasts.observe({key}, {{0, 0, 0, 1}, {}}); };
  const auto known = [&](CallKey key) { return forecasts.next({key}).method != "none"; };
  const auto count = [&](CallKey from, CallKey to) {
    int all = 0;
    for (CallKey key = from; key < to; ++key) all += known(key) ? 1 : 0;
    return all;
  };
  for (CallKey key = 0; key < kKinds; ++key) observe(key);
  const int first = count(0, kKinds);
  EXPECT_GE(first, 64);
  EXPECT_LT(first, kKinds);
  EXPECT_EQ(count(0, static_cast<CallKey>(first)), first);  // not pushed out by those that follow
  for (int round = 0; round < 900; ++round) {
    for (CallKey key = 0; key < kKinds; ++key) observe(key);
  }
  EXPECT_GE(count(0, kKinds), 64);
  for (CallKey key = 1000; key < 1000 + 20 * kKinds; ++key) observe(key);
  EXPECT_LT(count(0, kKinds), kKinds);
}

/// More kinds of calls than there is room for, of which the last one alone has a late rank.
TEST(Forecasts, CallsThatShowNobodyLateMakeRoom) {
  constexpr Rank kRanks = 256;
  constexpr CallKey kKinds = 24;
  Forecasts forecasts(kRanks);
  const Observation together{Times(kRanks), {}};
  Observation late = together;
  late.arrivals[7] = 1;
  for (int round = 0; round < 200; ++round) {
    for (CallKey key = 1; key <= kKinds; ++key) {
      forecasts.observe({key}, key == kKinds ? late : together);
    }
  }
  ASSERT_EQ(forecasts.expect({kKinds}).size(), static_cast<std::size_t>(kRanks));
  EXPECT_GT(forecasts.expect({kKinds})[7], 0.5);
}

/// The most memory for `kinds` kinds of calls, some of them twice in the loop.
std::size_t memory(Rank ranks, int kinds, int rounds) {
  Forecasts forecasts(ranks);
  std::size_t max = 0;
  Observation seen{Times(static_cast<std::size_t>(ranks)), {}};
  for (int round = 0; round < rounds; ++round) {
    for (int kind = 0; kind < kinds; ++kind) {
      seen.arrivals[static_cast<std::size_t>(kind % ranks)] = round * kind;
      forecasts.observe(forecasts.enter(static_cast<CallKey>(kind / 2)), seen);
      (void)forecasts.expect({static_cast<CallKey>(kind / 2)});
    }
    max = std::max(max, forecasts.memory());
  }
  return max;
}

TEST(Forecasts, MemoryIsBounded) {
  for (const Rank ranks : {1, 2, 256, 4096}) {
    const auto each = static_cast<std::size_t>(ranks);
    const int rounds = ranks > 1000 ? 20 : 150;
    // The limits are 64 KiB + 64 bytes a rank, and 256 KiB + 256: the rest is for other parts.
    EXPECT_LE(memory(ranks, 1, rounds), (20u << 10U) + 24 * each) << ranks;
    for (const int kinds : {8, 64}) {
      EXPECT_LE(memory(ranks, kinds, rounds), (132u << 10U) + 192 * each) << ranks << ", " << kinds;
    }
  }
}

TEST(Forecasts, MemoryIsWhatIsAllocated) {
  for (const Rank ranks : {2, 256, 4096}) {
    Forecasts forecasts(ranks);
    const std::size_t before = forecasts.memory();
    forecasts.observe({1}, {Times(static_cast<std::size_t>(ranks)), {}});
    EXPECT_GE(before, sizeof(Forecasts));
    EXPECT_GE(forecasts.memory() - before, Forecast::memory(ranks));
  }
}

TEST(Forecasts, WhatIsNotTrustedIsExpectedTogether) {
  Forecasts forecasts(kGroup);
  EXPECT_EQ(forecasts.expect({'A'}), Times{});
  rounds(forecasts, "Ab", 8);
  EXPECT_EQ(forecasts.expect({'A'}), Times{});
  const Times late = forecasts.expect({'B'});
  ASSERT_EQ(late.size(), 4u);
  EXPECT_NEAR(late[2], kLateBy, kLateBy / 8);
  EXPECT_EQ(forecasts.expect({'B'}), late);
}

TEST(Forecasts, BadInputIsAnError) {
  EXPECT_THROW(Forecasts(0), Error);
  Forecasts forecasts(2);
  EXPECT_THROW(forecasts.observe({'A'}, {{1.0}, {}}), Error);
  EXPECT_EQ(forecasts.next({'A'}).method, "none");
}

}  // namespace
}  // namespace latecomer
