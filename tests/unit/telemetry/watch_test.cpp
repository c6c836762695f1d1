// The durations that ranks tell each other by their stamps.
#include "telemetry/watch.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace latecomer {
namespace {

constexpr Seconds kTolerance = 1e-6;  // stamps hold durations as floats

/// Rank 1's stamps, as a message brings them to rank 0.
void bring(Piggyback& from, Piggyback& to) {
  std::vector<char> data;
  from.pack(data);
  to.unpack(data.data(), data.size());
}

/// A plan's call, with stamps: both ranks come at `arrival` and leave at `exit`.
void stamped_call(Watch& mine, Watch& other, Seconds arrival, Seconds exit, Seconds deciding) {
  bring(other.enter(arrival), mine.enter(arrival));
  other.leave(exit, deciding);
  mine.leave(exit, deciding);
}

TEST(Watch, TheNextStampedCallBringsTheDuration) {
  Watch mine(0, 2), other(1, 2);
  stamped_call(mine, other, 1, 1.5, 0);
  EXPECT_FALSE(mine.taken());
  EXPECT_FALSE(mine.taken_before());
  stamped_call(mine, other, 2, 2.25, 0);
  ASSERT_TRUE(mine.taken_before());
  EXPECT_NEAR(mine.taken_before()->mean, 0.5, kTolerance);
}

TEST(Watch, TheDurationOnTheRankThatCameLastIsKnown) {
  Watch mine(0, 2), other(1, 2);
  bring(other.enter(1.25), mine.enter(1));
  other.leave(1.5);
  mine.leave(2);
  stamped_call(mine, other, 3, 3.5, 0);
  ASSERT_TRUE(mine.taken_before());
  EXPECT_NEAR(mine.taken_before()->on_last, 0.25, kTolerance);
  EXPECT_NEAR(mine.taken_before()->mean, 0.5, kTolerance);
}

/// Rank 1 came last, at 1.25, and left at 1.5; rank 0 left at 2 and came again at 3, rank 1
/// at 2.75.
TEST(Watch, TheNextArrivalsBringTheCost) {
  Watch mine(0, 2), other(1, 2);
  bring(other.enter(1.25), mine.enter(1));
  other.leave(1.5);
  mine.leave(2);
  EXPECT_FALSE(mine.cost_before());
  bring(other.enter(2.75), mine.enter(3));
  other.leave(3.5);
  mine.leave(3.5);
  ASSERT_TRUE(mine.cost_before());
  const Seconds together = 2 - 1.25;              // the last exit
  const Seconds alone = 3 - 1.25 - (2.75 - 1.5);  // less rank 1's time in between
  EXPECT_NEAR(*mine.cost_before(), (together + alone) / 2, kTolerance);  // nothing is known yet
  mine.miss();
  bring(other.enter(5), mine.enter(5));
  mine.leave(6);
  EXPECT_FALSE(mine.cost_before());
}

/// As from a broadcast, unless clocks say so that are off.
TEST(Watch, WhoLeavesBeforeTheLastComesDoesNotWaitForIt) {
  Watch mine(0, 2), other(1, 2);
  bring(other.enter(3), mine.enter(1));
  mine.leave(2);
  EXPECT_NEAR(mine.waited(false), 0, kTolerance);
  EXPECT_NEAR(mine.waited(true), 1, kTolerance);
  EXPECT_NEAR(mine.inside(), 1, kTolerance);
  mine.leave(4);
  EXPECT_NEAR(mine.waited(false), 2, kTolerance);
}

TEST(Watch, DecidingIsNoPartOfAPlansDuration) {
  Watch mine(0, 2), other(1, 2);
  stamped_call(mine, other, 1, 1.5, 0.125);
  stamped_call(mine, other, 2, 2.25, 0);
  EXPECT_NEAR(mine.taken_before().value_or(Taken{}).mean, 0.375, kTolerance);
  EXPECT_NEAR(mine.after_last_arrival(), 0.25, kTolerance);  // what the program spent
}

TEST(Watch, DecidingIsNoPartOfTheLibrarysDuration) {
  Watch mine(0, 2), other(1, 2);
  bring(other.begin_exchange(1, 1.5, 0.125), mine.begin_exchange(1, 1.5, 0.125));
  other.end_exchange();
  mine.end_exchange();
  EXPECT_NEAR(mine.taken().value_or(Taken{}).mean, 0.375, kTolerance);
}

}  // namespace
}  // namespace latecomer
