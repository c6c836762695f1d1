#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/allreduce/generalized/levels.hpp"

namespace latecomer {
namespace {

TEST(Spread, CoversTheVectorOnce) {
  for (const Count count : {0, 1, 5, 16, 17, 1000}) {
    for (const Count parts : {1, 2, 5, 16, 40}) {
      const Spread split(count, parts);
      Count next = 0;
      for (Count part = 0; part < parts; ++part) {
        EXPECT_EQ(split.range(part).begin, next);
        next = split.range(part).end();
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(Spread, NoRunOfNeighboursIsLongerThanItMustBe) {
  for (Count count = 0; count <= 40; ++count) {
    for (Count parts = 1; parts <= 17; ++parts) {
      const Spread split(count, parts);
      for (Count run = 0; run <= parts; ++run) {
        Count max = 0;
        for (Count first = 0; first < parts; ++first) {
          Count elements = 0;
          for (Count i = 0; i < run; ++i) elements += split.range((first + i) % parts).count;
          max = std::max(max, elements);
        }
        EXPECT_EQ(split.longest(run), max) << count << " in " << parts << ", run of " << run;
        EXPECT_EQ(max, (run * count + parts - 1) / parts);
      }
    }
  }
}

}  // namespace
}  // namespace latecomer
