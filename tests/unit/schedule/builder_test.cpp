#include "schedule/builder.hpp"

#include <gtest/gtest.h>

namespace latecomer {
namespace {

Plan two_ranks(Count count, bool commutative = true, bool in_place = false) {
  return {"by hand", {Collective::allreduce, 2, count, 4, 0, commutative, in_place}, {}, {}, {},
          {}};
}

TEST(Scoreboard, DerivesTheThreeHazards) {
  Builder builder(two_ranks(8), 0);
  const Slice block = builder.scratch(4);
  builder.recv(1, block);                       // 1: nothing before it touches scratch
  builder.send(1, block);                       // 2: read after write
  builder.recv(1, block);                       // 3: write after read
  builder.copy(block, builder.output({0, 4}));  // 4: reads 3's, writes after the arrival
  builder.recv(1, builder.output({2, 4}));      // 5: write after write, half of it
  const Program program = builder.finish();
  EXPECT_EQ(program.after[1], std::vector<OpIndex>{});
  EXPECT_EQ(program.after[2], std::vector<OpIndex>{1});
  EXPECT_EQ(program.after[3], std::vector<OpIndex>{2});
  EXPECT_EQ(program.after[4], (std::vector<OpIndex>{0, 3}));
  EXPECT_EQ(program.after[5], (std::vector<OpIndex>{0, 4}));
}

TEST(Scoreboard, ReadersOfOneRangeDoNotWaitForEachOther) {
  Builder builder(two_ranks(8), 0);
  builder.send(1, builder.input({0, 8}));
  builder.send(1, builder.input({2, 2}));
  const Program program = builder.finish();
  EXPECT_EQ(program.after[2], std::vector<OpIndex>{0});
}

TEST(Builder, SendsInTurnWaitForEachOtherAndForTheirPace) {
  Builder builder(two_ranks(8), 0);
  const Slice block = builder.scratch(4);
  builder.send_in_turn(1, builder.input({0, 4}));  // 1: no send before it
  builder.recv(1, block);                          // 2
  const OpIndex received = builder.last();
  builder.send_in_turn(1, builder.input({4, 0}), received);  // left out
  builder.send_in_turn(1, builder.input({4, 4}), received);  // 3
  builder.send_in_turn(1, block, received);                  // 4: reads what 2 received
  const Program program = builder.finish();
  ASSERT_EQ(program.operations.size(), 5u);
  EXPECT_EQ(program.after[1], std::vector<OpIndex>{0});
  EXPECT_EQ(program.after[3], (std::vector<OpIndex>{0, 1, 2}));
  EXPECT_EQ(program.after[4], (std::vector<OpIndex>{2, 3}));
}

TEST(Builder, ProgramsArePacedByTheirReceiversOnlyIfTold) {
  Builder builder(two_ranks(8), 0);
  EXPECT_FALSE(Builder(two_ranks(8), 0).finish().receiver_paced);
  builder.pace_by_receivers();
  EXPECT_TRUE(builder.finish().receiver_paced);
}

TEST(Scoreboard, AWriterWaitsForAllReadersOfAnyPart) {
  Builder builder(two_ranks(8, true, true), 0);
  builder.send(1, builder.output({0, 2}));
  builder.send(1, builder.output({1, 5}));
  builder.recv(1, builder.output({0, 8}));
  EXPECT_EQ(builder.finish().after[3], (std::vector<OpIndex>{0, 1, 2}));
}

TEST(Builder, ArrivingIsTheFirstOperation) {
  const Program program = Builder(two_ranks(3), 1).finish();
  ASSERT_EQ(program.operations.size(), 1u);
  EXPECT_EQ(program.operations[0].kind, OpKind::arrive);
}

TEST(Builder, LeavesOutEmptySlicesAndCopiesOntoThemselves) {
  Builder builder(two_ranks(3, true, true), 0);
  const Slice none = builder.output({1, 0});
  builder.send(1, none);
  builder.recv(1, none);
  builder.combine(none, none, Into::left);
  builder.copy(builder.input({0, 3}), builder.output({0, 3}));
  EXPECT_EQ(builder.finish().operations.size(), 1u);
}

struct Fold {
  bool commutative;
  bool own_writable;
  Received side;
  std::string expected;  // the operations after the arrival
};

TEST(Builder, FoldKeepsOperandOrderAndCopiesOnlyWhereItMust) {
  const Fold folds[] = {
      {true, false, Received::left, "combine scratch[0:2] input[0:2] into left;"},
      {true, false, Received::right, "combine input[0:2] scratch[0:2] into right;"},
      {true, true, Received::left, "combine scratch[0:2] output[0:2] into right;"},
      {true, true, Received::right, "combine output[0:2] scratch[0:2] into left;"},
      {false, false, Received::right, "combine input[0:2] scratch[0:2] into right;"},
      {false, true, Received::left, "combine scratch[0:2] output[0:2] into right;"},
      {false, false, Received::left,
       "copy input[0:2] to output[0:2];combine scratch[0:2] output[0:2] into right;"},
  };
  for (const Fold& fold : folds) {
    Builder builder(two_ranks(2, fold.commutative), 0);
    const Slice received = builder.scratch(2);
    const Slice own = fold.own_writable ? builder.output({0, 2}) : builder.input({0, 2});
    const Slice result = builder.fold(received, fold.side, own, builder.output({0, 2}));
    const Program program = builder.finish();
    std::string text;
    for (std::size_t i = 1; i < program.operations.size(); ++i) {
      text += to_text(program.operations[i]) + ';';
    }
    EXPECT_EQ(text, fold.expected);
    EXPECT_EQ(result, program.operations.back().result());
  }
}

/// Also where the operator commutes, the result lies where the right operand was.
TEST(Builder, FoldInOrderWritesTheRightOperand) {
  for (const bool own_writable : {false, true}) {
    for (const Received side : {Received::left, Received::right}) {
      Builder builder(two_ranks(2), 0);
      const Slice received = builder.scratch(2);
      const Slice own = own_writable ? builder.output({0, 2}) : builder.input({0, 2});
      const Slice result = builder.fold_in_order(received, side, own, builder.output({0, 2}));
      const Operation last = builder.finish().operations.back();
      EXPECT_EQ(last.into, Into::right);
      EXPECT_EQ(result, last.target);
      EXPECT_EQ(side == Received::left ? last.source : last.target, received);
    }
  }
}

}  // namespace
}  // namespace latecomer
