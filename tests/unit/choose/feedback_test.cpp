#include "choose/feedback.hpp"

#include <gtest/gtest.h>

namespace latecomer {
namespace {

TEST(Feedback, OneNewRatioDoesNotReplaceTheOldOnes) {
  Feedback feedback;
  for (const double ratio : {2.0, 8.0, 3.0}) feedback.learn(ratio, 2 * ratio);
  EXPECT_EQ(feedback.factor(1), 3);
  EXPECT_EQ(feedback.last_exit_factor(), 6);

  feedback.renew();
  feedback.learn(20, 60);
  EXPECT_TRUE(feedback.renewing());
  EXPECT_TRUE(feedback.judged());
  EXPECT_EQ(feedback.factor(1), 3);
  EXPECT_EQ(feedback.last_exit_factor(), 6);

  feedback.learn(10, 50);
  EXPECT_FALSE(feedback.renewing());
  EXPECT_TRUE(feedback.judged());
  EXPECT_EQ(feedback.factor(1), 10);
  EXPECT_EQ(feedback.last_exit_factor(), 50);
}

TEST(Feedback, ATrialWithoutEnoughRatiosChangesNothing) {
  Feedback feedback;
  feedback.learn(4, 4);
  feedback.learn(2, 2);
  feedback.renew();
  feedback.learn(9, 9);
  feedback.renew();
  EXPECT_TRUE(feedback.tried());
  EXPECT_EQ(feedback.factor(1), 2);
}

}  // namespace
}  // namespace latecomer
