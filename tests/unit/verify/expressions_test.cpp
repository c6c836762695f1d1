#include "verify/expressions.hpp"

#include <gtest/gtest.h>

namespace latecomer::verifier {
namespace {

TEST(Expressions, EqualTreesHaveEqualNumbers) {
  Expressions expressions(3);
  const Expression one = expressions.node(expressions.node(0, 1), 2);
  EXPECT_EQ(expressions.node(expressions.node(0, 1), 2), one);
  EXPECT_NE(expressions.node(0, expressions.node(1, 2)), one);
  EXPECT_NE(expressions.node(expressions.node(1, 0), 2), one);
}

TEST(Expressions, AccumulationsAreEqualOnOneFlagOnly) {
  Expressions expressions(3);
  const Expression one = expressions.node(0, 1, 7);
  EXPECT_EQ(expressions.node(0, 1, 7), one);
  EXPECT_NE(expressions.node(0, 1, 8), one);
  EXPECT_NE(expressions.node(0, 1), one);
  EXPECT_EQ(expressions.to_text(expressions.node(2, one)), "ranks (2 [0 1])");
  EXPECT_TRUE(expressions.complete(expressions.node(2, one, 7)));
}

TEST(Evaluations, TellApartOperandsAndSlices) {
  Evaluations evaluations(2);
  const Evaluation one = evaluations.combined(0, 1, {0, 4});
  EXPECT_EQ(evaluations.combined(0, 1, {0, 4}), one);
  EXPECT_NE(evaluations.combined(1, 0, {0, 4}), one);
  EXPECT_NE(evaluations.combined(0, 1, {0, 5}), one);
  EXPECT_NE(evaluations.combined(0, 1, {1, 4}), one);
  EXPECT_NE(evaluations.combined(0, 1, {0, 4}, 7), one);
  EXPECT_GT(one, 1U);  // no rank's own
}

TEST(Expressions, KnowsWhoContributes) {
  Expressions expressions(130);
  const Expression some = expressions.node(expressions.node(3, 64), 129);
  EXPECT_EQ(expressions.lowest(some), 3);
  EXPECT_EQ(expressions.highest(some), 129);
  EXPECT_FALSE(expressions.disjoint(some, Expressions::leaf(64)));
  EXPECT_FALSE(expressions.disjoint(some, Expressions::leaf(129)));
  EXPECT_TRUE(expressions.disjoint(some, Expressions::leaf(65)));
  EXPECT_FALSE(expressions.complete(some));
}

TEST(Expressions, CompleteWhenAllContribute) {
  Expressions expressions(65);
  Expression all = Expressions::leaf(0);
  for (Rank rank = 1; rank < 65; ++rank) {
    EXPECT_FALSE(expressions.complete(all));
    all = expressions.node(all, Expressions::leaf(rank));
  }
  EXPECT_TRUE(expressions.complete(all));
}

TEST(Expressions, TextIsATreeOrForManyRanksASet) {
  Expressions expressions(40);
  EXPECT_EQ(expressions.to_text(7), "rank 7");
  EXPECT_EQ(expressions.to_text(expressions.node(2, expressions.node(0, 1))), "ranks (2 (0 1))");
  Expression many = Expressions::leaf(30);
  for (Rank rank = 0; rank < 20; ++rank) many = expressions.node(many, Expressions::leaf(rank));
  EXPECT_EQ(expressions.to_text(many), "ranks {0-19, 30}");
}

}  // namespace
}  // namespace latecomer::verifier
