// The sweep over accesses against the obvious check of all pairs.
#include <gtest/gtest.h>

#include "base/reproducible.hpp"
#include "negative/equivalence.hpp"
#include "verify/operations.hpp"

namespace latecomer::verifier {
namespace {

constexpr Count kPlaces = 8;

Slice random_slice(Random& random, Count count) {
  const auto places = static_cast<std::uint64_t>(kPlaces - count + 1);
  const Buffer buffers[] = {Buffer::output, Buffer::node, Buffer::scratch, Buffer::scratch};
  return {buffers[random.below(4)], static_cast<Count>(random.below(places)), count};
}

Operation random_operation(Random& random) {
  const auto count = static_cast<Count>(1 + random.below(3));
  Operation op;
  op.source = random_slice(random, count);
  op.target = random_slice(random, count);
  if (random.below(2) == 0) op.into = Into::left;
  const OpKind kinds[] = {OpKind::send,   OpKind::recv,  OpKind::combine,   OpKind::copy,
                          OpKind::signal, OpKind::await, OpKind::accumulate};
  op.kind = kinds[random.below(7)];
  if (op.kind == OpKind::signal) (random.below(2) == 0 ? op.source : op.target) = kNothing;
  if (op.kind == OpKind::await) op.source = kNothing;
  return op;
}

Program random_program(Random& random) {
  Program program;
  program.operations.resize(1);
  for (int i = 0; i < 12; ++i) program.operations.push_back(random_operation(random));
  program.output_count = program.scratch_count = program.node_count = kPlaces;
  program.after.resize(program.operations.size());
  testing::derive_dependencies(program);
  return program;
}

/// Leaves out some dependencies and puts in some others.
void disturb(Program& program, Random& random) {
  for (OpIndex i = 1; i < program.operations.size(); ++i) {
    auto& after = program.after[i];
    if (!after.empty() && random.below(6) == 0) after.erase(after.begin());
    if (random.below(4) == 0) after.push_back(static_cast<OpIndex>(random.below(i)));
  }
}

TEST(VerifyTouch, AgreesWithAllPairs) {
  Random random(7);
  int wrong = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    Program program = random_program(random);
    if (round % 4 != 0) disturb(program, random);
    const Programs programs(&program, 1);
    const bool found = check_hazards(programs) || check_arrival(programs);
    ASSERT_EQ(found, !testing::ordered(program)) << to_text(program);
    if (found) ++wrong;
  }
  // Right and wrong programs occurred.
  EXPECT_GT(wrong, kRounds / 10);
  EXPECT_LT(wrong, kRounds * 9 / 10);
}

TEST(VerifyTouch, BeforeTheArrivalTheBufferOfTheNodeMayBeTouched) {
  const auto copy = [](Buffer from, Buffer to) {
    Program program;
    program.operations = {{}, {OpKind::copy, -1, {from, 0, 1}, {to, 1, 1}, {}}};
    program.after = {{}, {}};
    return check_arrival({&program, 1}).has_value();
  };
  EXPECT_FALSE(copy(Buffer::node, Buffer::scratch));
  EXPECT_FALSE(copy(Buffer::scratch, Buffer::node));
  EXPECT_TRUE(copy(Buffer::input, Buffer::node));
  EXPECT_TRUE(copy(Buffer::node, Buffer::output));
}

TEST(VerifyTouch, ADependencyThroughOthersCounts) {
  const Operation write{OpKind::recv, 1, {}, {Buffer::scratch, 0, 4}, {}};
  const Operation other{OpKind::recv, 1, {}, {Buffer::scratch, 4, 4}, {}};
  const Operation read{OpKind::send, 1, {Buffer::scratch, 3, 1}, {}, {}};
  Program program;
  program.operations = {{}, write, other, read};
  program.after = {{}, {}, {1}, {2}};
  EXPECT_FALSE(check_hazards({&program, 1}));
  program.after[2].clear();
  EXPECT_TRUE(check_hazards({&program, 1}));
}

}  // namespace
}  // namespace latecomer::verifier
