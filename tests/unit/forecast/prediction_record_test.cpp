#include "forecast/prediction_record.hpp"

#include <gtest/gtest.h>

namespace latecomer {
namespace {

using Record = PredictionRecord<8>;

Record after(int right, int wrong, Seconds misplacement) {
  Record record;
  for (; wrong > 0; --wrong) record.add(4, misplacement);
  for (; right > 0; --right) record.add(4, 1.9);
  return record;
}

TEST(PredictionRecord, OfNothingNothingIsWrong) {
  EXPECT_FALSE(Record().any(1));
  EXPECT_TRUE(Record().few_wrong(1));
}

TEST(PredictionRecord, HalfOfTheImbalanceIsTheErrorAllowed) {
  EXPECT_TRUE(after(0, 1, 1.9).few_wrong(4));
  EXPECT_FALSE(after(0, 1, 2).few_wrong(4));
}

TEST(PredictionRecord, AnotherLateRankThanClaimedCountsTwice) {
  EXPECT_FALSE(after(4, 1, 8).few_wrong(4));
  EXPECT_TRUE(after(6, 1, 8).few_wrong(4));  // 8 of 28
  EXPECT_FALSE(after(1, 1, 4).few_wrong(4));
  EXPECT_TRUE(after(3, 1, 4).few_wrong(4));  // 4 of 16
}

TEST(PredictionRecord, AHiccupIsOneMiss) { EXPECT_TRUE(after(7, 1, 8000).few_wrong(4)); }

TEST(PredictionRecord, ForgetsWhatLeavesTheWindow) {
  Record record = after(0, 2, 8);
  for (int i = 0; i < 6; ++i) record.add_without_claim(0);
  EXPECT_TRUE(record.any(8));
  EXPECT_FALSE(record.few_wrong(4));
  record.add_without_claim(0);
  record.add_without_claim(0);
  EXPECT_FALSE(record.any(8));
  EXPECT_TRUE(record.few_wrong(4));
}

TEST(PredictionRecord, SmallClaimsSayNothingAboutLargeOnes) {
  const Record record = after(0, 3, 8);
  EXPECT_TRUE(record.any(8));
  EXPECT_FALSE(record.few_wrong(8));
  EXPECT_FALSE(record.any(8.1));
  EXPECT_TRUE(record.few_wrong(8.1));
}

}  // namespace
}  // namespace latecomer
