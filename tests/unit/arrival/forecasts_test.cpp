#include "arrival/forecasts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "unit/arrival/histories.hpp"

namespace latecomer {
namespace {

using namespace testing;

constexpr Rank kRanks = 4;
constexpr Seconds kDelay = 0.05;

/// Makes the loop's calls; a small letter is the same key, with a late rank. Returns what each call
/// of the last round was told.
std::vector<Estimate> rounds(Forecasts& forecasts, std::string_view loop, int times) {
  Loop program(kRanks, kDelay / 20, base_seed());
  std::vector<Estimate> told;
  for (int round = 0; round < times; ++round) {
    told.clear();
    for (const char letter : loop) {
      const bool late = letter >= 'a';
      const HistoryKey history = forecasts.enter(static_cast<CallKey>(late ? letter - 32 : letter));
      told.push_back(forecasts.next(history));
      forecasts.observe(history, program.call(one_late(kRanks, 2, late ? kDelay : 0)));
    }
  }
  return told;
}

Rank latest(const Estimate& estimate) {
  const auto last = std::max_element(estimate.arrivals.begin(), estimate.arrivals.end());
  return static_cast<Rank>(last - estimate.arrivals.begin());
}

bool knows_it(const Estimate& estimate) {
  return estimate.trusted && latest(estimate) == 2 && estimate.arrivals[2] > kDelay * 0.8;
}

TEST(Forecasts, EachKeyHasItsOwn) {
  Forecasts forecasts(kRanks);
  const auto told = rounds(forecasts, "AbC", 5);
  EXPECT_FALSE(knows_it(told[0]));
  EXPECT_TRUE(knows_it(told[1]));
  EXPECT_FALSE(knows_it(told[2]));
}

TEST(Forecasts, SoHasEachPlaceOfAKey) {
  Forecasts forecasts(kRanks);
  const auto told = rounds(forecasts, "aABC", 7);
  EXPECT_TRUE(knows_it(told[0]));
  EXPECT_EQ(told[0].method, "lateness_last_value");  // told apart by the place, not by a period
  EXPECT_FALSE(knows_it(told[1]));
  EXPECT_FALSE(knows_it(told[2]));
}

TEST(Forecasts, KeysAloneCannotTellEqualCallsApart) {
  Forecasts forecasts(kRanks);
  const auto told = rounds(forecasts, "aAAAAAAAAAAAAAAA", 5);
  EXPECT_TRUE(knows_it(told[0]));
  EXPECT_TRUE(told[0].method.ends_with("periodic")) << told[0].method;
  for (std::size_t call = 1; call < told.size(); ++call) EXPECT_FALSE(knows_it(told[call])) << call;
}

TEST(Forecasts, ANewPlaceIsToldWhatItsKeyDid) {
  Forecasts forecasts(kRanks);
  rounds(forecasts, "aa", 10);
  EXPECT_TRUE(knows_it(forecasts.next({'A', 3, 1})));
  EXPECT_FALSE(forecasts.next({'B', 3, 2}).trusted);
}

TEST(Forecasts, ManyKeysDoNotGrowIt) {
  Forecasts forecasts(1);
  const auto observe = [&](CallKey key) { forecasts.observe({key}, {{0.0}, {}}); };
  const auto known = [&](CallKey key) { return forecasts.next({key}).method != "none"; };
  for (CallKey key = 0; key < Forecasts::kMost; ++key) observe(key);
  observe(0);
  observe(1000);
  EXPECT_TRUE(known(0));
  EXPECT_FALSE(known(1));  // unused longest
  EXPECT_TRUE(known(2));
  EXPECT_TRUE(known(1000));
}

TEST(Forecasts, BadInputIsAnError) {
  EXPECT_THROW(Forecasts(0), Error);
  Forecasts forecasts(2);
  EXPECT_THROW(forecasts.observe({'A'}, {{1.0}, {}}), Error);
  EXPECT_EQ(forecasts.next({'A'}).method, "none");
}

}  // namespace
}  // namespace latecomer
