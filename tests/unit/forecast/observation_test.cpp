#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/error.hpp"
#include "forecast/forecast.hpp"

namespace latecomer {
namespace {

std::string complaint(const Observation& observation, Rank ranks) {
  try {
    Forecast(ranks).observe(observation);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Observation, TimesOfAllRanksAreFine) {
  EXPECT_EQ(complaint({{1, -2}, {}}, 2), "");
  EXPECT_EQ(complaint({{1, 2}, {0, 1e12}}, 2), "");
}

TEST(Observation, WhatIsNoTimeIsNamed) {
  const Seconds infinite = std::numeric_limits<Seconds>::infinity();
  const Seconds nan = std::numeric_limits<Seconds>::quiet_NaN();
  const std::string remedy = " is not usable; right would be a time between -1e12 and 1e12 seconds";
  EXPECT_EQ(complaint({{1, nan}, {}}, 2), "arrival of rank 1: 'nan'" + remedy);
  EXPECT_EQ(complaint({{-infinite, 1}, {}}, 2), "arrival of rank 0: '-inf'" + remedy);
  EXPECT_EQ(complaint({{0, 1}, {0, infinite}}, 2), "exit of rank 1: 'inf'" + remedy);
  EXPECT_EQ(complaint({{0, 2e12}, {}}, 2), "arrival of rank 1: '2e+12'" + remedy);
}

TEST(Observation, WrongLengthsAreNamed) {
  EXPECT_EQ(complaint({{1, 2}, {}}, 3),
            "number of arrivals: '2' is not usable; right would be one for each of 3 ranks");
  EXPECT_EQ(complaint({{1, 2}, {1}}, 2),
            "number of exits: '1' is not usable; right would be one for each of 2 ranks");
}

}  // namespace
}  // namespace latecomer
