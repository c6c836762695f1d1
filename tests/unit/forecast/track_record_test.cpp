#include "forecast/track_record.hpp"

#include <gtest/gtest.h>

namespace latecomer {
namespace {

void add(TrackRecord& record, int times, Seconds misplacement, Seconds predicted = 0) {
  for (; times > 0; --times) record.add(misplacement, predicted);
}

TEST(TrackRecord, StartsEmpty) {
  const TrackRecord record;
  EXPECT_EQ(record.count(), 0u);
  EXPECT_EQ(record.recent(), 0);
  EXPECT_FALSE(record.claims(1));
}

TEST(TrackRecord, RecentIsTheWorseOfTheLastTwo) {
  TrackRecord record;
  record.add(9, 0);
  EXPECT_EQ(record.recent(), 9);
  record.add(2, 0);
  EXPECT_EQ(record.recent(), 9);
  record.add(3, 0);
  EXPECT_EQ(record.recent(), 3);
}

TEST(TrackRecord, MeanIsOverTheLastPredictions) {
  TrackRecord record;
  record.add(3200, 0);
  add(record, 31, 0);
  EXPECT_EQ(record.mean(32), 100);
  EXPECT_EQ(record.mean(31), 0);
  record.add(32, 0);
  EXPECT_EQ(record.mean(32), 1);
  EXPECT_EQ(record.mean(2), 16);
}

TEST(TrackRecord, ClaimsWhatIsTwiceAsLargeAsItsLastErrors) {
  TrackRecord record;
  record.add(1, 0);
  EXPECT_FALSE(record.claims(10));  // seen once only
  record.add(3, 0);
  EXPECT_FALSE(record.claims(6));
  EXPECT_TRUE(record.claims(6.1));
  add(record, 2, 0);
  EXPECT_FALSE(record.claims(1e-9));  // not more than rounding
}

TEST(TrackRecord, IsProvenByAClaimOfSuchSizeThatCameTrue) {
  TrackRecord record;
  add(record, 2, 0, 8);
  EXPECT_FALSE(record.proven(8));  // predicted, but before it could claim anything
  record.add(0, 8);
  EXPECT_TRUE(record.proven(8));
  EXPECT_TRUE(record.proven(16));
  EXPECT_FALSE(record.proven(17));
}

TEST(TrackRecord, IsNotProvenWhereClaimsWereWrong) {
  TrackRecord record;
  add(record, 2 + 7, 0, 8);
  record.add(16, 8);
  EXPECT_FALSE(record.proven(8));  // wrong just now
  add(record, 2, 0, 8);
  EXPECT_TRUE(record.proven(8));
  record.add(16, 8);
  add(record, 2, 0, 8);
  EXPECT_FALSE(record.proven(8));  // too often
}

TEST(TrackRecord, WhatWasNotClaimedIsNotHeldAgainstIt) {
  TrackRecord record;
  add(record, 3, 0, 8);
  add(record, 5, 8, 0);
  add(record, 2, 0, 8);
  EXPECT_TRUE(record.proven(8));
}

}  // namespace
}  // namespace latecomer
