#include <gtest/gtest.h>

#include "forecast/forecast.hpp"

namespace latecomer {
namespace {

void add(TrackRecord& record, int times, float misplaced, float predicted = 0) {
  for (; times > 0; --times) record.add(misplaced, predicted);
}

TEST(TrackRecord, StartsEmpty) {
  const TrackRecord record;
  EXPECT_EQ(record.mean, 0.0F);
  EXPECT_EQ(record.claim(1), 0.0F);
}

TEST(TrackRecord, RecentIsTheWorseOfTheLastTwo) {
  TrackRecord record;
  record.add(9, 0);
  record.add(2, 0);
  EXPECT_EQ(record.recent(), 9.0F);
  record.add(3, 0);
  EXPECT_EQ(record.recent(), 3.0F);
}

TEST(TrackRecord, TheMeanForgetsSlowly) {
  TrackRecord record;
  add(record, 500, 1);
  EXPECT_NEAR(record.mean, 1, 1e-3);
  record.add(33, 0);
  EXPECT_NEAR(record.mean, 2, 1e-3);
  add(record, 32, 1);
  EXPECT_NEAR(record.mean, 1 + 1 / 2.72, 0.05);
}

TEST(TrackRecord, ClaimsWhatIsTwiceAsLargeAsItsLastErrors) {
  TrackRecord record;
  record.add(1, 0);
  EXPECT_EQ(record.claim(10), 0.0F);  // seen once only
  record.add(3, 0);
  EXPECT_EQ(record.claim(6), 0.0F);
  EXPECT_EQ(record.claim(7), 7.0F);
  add(record, 2, 0);
  EXPECT_EQ(record.claim(1e-9F), 0.0F);  // not more than rounding
}

TEST(TrackRecord, CountsAsAClaimOnlyWhatItClaimed) {
  TrackRecord record;
  add(record, 2, 0, 8);  // predicted, but before it could claim anything
  EXPECT_EQ(record.claims.all, 0.0F);
  record.add(0, 8);
  EXPECT_EQ(record.claims.all, 8.0F);
  record.add(8, 0);
  add(record, 2, 8, 8);
  EXPECT_LT(record.claims.all, 8.0F);
  EXPECT_EQ(record.claims.wrong, 0.0F);
}

TEST(Claims, AThirdByWeightMayBeWrong) {
  Claims claims;
  EXPECT_TRUE(claims.few_wrong(4));
  for (int call = 0; call < 10; ++call) claims.add(4, 1);
  claims.add(4, 8);
  EXPECT_TRUE(claims.few_wrong(4));
  claims.add(16, 20);
  EXPECT_FALSE(claims.few_wrong(4));
}

TEST(Claims, SmallOnesHardlyCount) {
  Claims claims;
  for (int call = 0; call < 10; ++call) claims.add(10, 1);
  for (int call = 0; call < 10; ++call) claims.add(1, 2);
  EXPECT_TRUE(claims.few_wrong(4));
}

}  // namespace
}  // namespace latecomer
