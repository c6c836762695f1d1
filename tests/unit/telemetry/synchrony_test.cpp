#include <gtest/gtest.h>

#include <algorithm>

#include "base/reproducible.hpp"
#include "telemetry/watch.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kRanks = 8;

/// 100 calls that each rank leaves at another time. `waits`: all wait for the last one before they
/// compute. `usual`: what a rank computes more than the others, and leaves earlier, in each call.
double after_100_calls(bool waits, Seconds usual, double chance) {
  Random random(11);
  Synchrony synchrony;
  Seconds now = 0;
  for (int call = 0; call < 100; ++call) {
    std::vector<Seconds> exits(kRanks);
    for (Seconds& exit : exits) exit = now + chance * random.uniform();
    exits[3] -= usual;
    const Seconds last = std::ranges::max(exits);
    std::vector<Seconds> next;
    for (const Seconds exit : exits) {
      next.push_back((waits ? last : exit) + 1 + chance * random.uniform());
    }
    next[3] += usual;
    synchrony.learn(exits, next);
    now = std::ranges::max(next);
  }
  return synchrony.estimate();
}

TEST(Synchrony, IsOneWhereRanksWaitForEachOther) {
  EXPECT_GT(after_100_calls(true, 0, 0.1), 0.7);
  EXPECT_GT(after_100_calls(true, 0.5, 0.1), 0.7);
}

TEST(Synchrony, IsZeroWhereEachGoesOnByItself) {
  EXPECT_LT(after_100_calls(false, 0, 0.1), 0.3);
  EXPECT_LT(after_100_calls(false, 0.5, 0.1), 0.3);
}

TEST(Synchrony, IsNotKnownWhereAllIsAsUsual) {
  EXPECT_EQ(Synchrony().estimate(), 0.5);
  Synchrony synchrony;
  synchrony.learn({1, 2}, {3, 4});
  EXPECT_EQ(synchrony.estimate(), 0.5);
  synchrony.learn({5, 6}, {7, 8});
  EXPECT_EQ(synchrony.estimate(), 0.5);
}

}  // namespace
}  // namespace latecomer
