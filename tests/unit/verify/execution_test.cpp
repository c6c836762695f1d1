#include "verify/execution.hpp"

#include <gtest/gtest.h>

#include "base/reproducible.hpp"

namespace latecomer::verifier {
namespace {

constexpr Rank kRanks = 3;

Operation send(Rank to) { return {OpKind::send, to, {Buffer::scratch, 0, 1}, {}, {}}; }
Operation recv(Rank from) { return {OpKind::recv, from, {}, {Buffer::scratch, 0, 1}, {}}; }

void add(Program& program, const Operation& operation, Random& random) {
  const auto index = program.operations.size();
  program.operations.push_back(operation);
  auto& after = program.after.emplace_back();
  for (std::size_t n = random.below(3); n > 0 && index > 0; --n) {
    after.push_back(static_cast<OpIndex>(random.below(index)));
  }
}

/// Ranks 0 and 1 share a node: one signals, the other awaits.
void add_flag(std::vector<Program>& programs, Random& random) {
  const std::int32_t flag = programs[0].flags;
  programs[0].flags = programs[1].flags = flag + 1;
  const std::size_t from = random.below(2);
  Operation signal, await;
  signal.kind = OpKind::signal;
  await.kind = OpKind::await;
  signal.flag = await.flag = flag;
  signal.source = signal.target = await.source = await.target = kNothing;
  const std::size_t signals = 1 + random.below(2);
  await.count = static_cast<Rank>(signals);
  for (std::size_t i = 0; i < signals; ++i) add(programs[from], signal, random);
  add(programs[1 - from], await, random);
}

/// Random messages and flags with random dependencies. The receives of a rank follow, now and then,
/// another order than the sends, so that some of the programs get stuck.
std::vector<Program> random_programs(Random& random) {
  std::vector<Program> programs(kRanks);
  for (Rank rank = 0; rank < kRanks; ++rank) programs[static_cast<std::size_t>(rank)].me = rank;
  programs[2].node = 2;
  for (int message = 0; message < 8; ++message) {
    if (random.below(4) == 0) add_flag(programs, random);
    const auto from = static_cast<Rank>(random.below(kRanks));
    const auto to = static_cast<Rank>((from + 1 + static_cast<Rank>(random.below(2))) % kRanks);
    add(programs[static_cast<std::size_t>(from)], send(to), random);
    add(programs[static_cast<std::size_t>(to)], recv(from), random);
  }
  for (Program& program : programs) {
    if (program.operations.size() < 2 || random.below(2) == 0) continue;
    std::swap(program.operations.front(), program.operations.back());
  }
  return programs;
}

/// Every step follows the steps that it depends on, at both ends of a message.
void expect_in_order(const std::vector<Program>& programs, const Messages& messages,
                     const Execution& execution) {
  std::vector<std::vector<bool>> done;
  for (const Program& program : programs) done.emplace_back(program.operations.size());
  const auto finish = [&](Rank rank, OpIndex index) {
    const auto r = static_cast<std::size_t>(rank);
    for (const OpIndex earlier : programs[r].after[index]) EXPECT_TRUE(done[r][earlier]);
    done[r][index] = true;
  };
  for (const Step step : execution.steps) {
    const auto r = static_cast<std::size_t>(step.rank);
    finish(step.rank, step.index);
    if (!is_message(programs[r].operations[step.index])) continue;
    finish(programs[r].operations[step.index].peer, messages.partner[r][step.index]);
  }
  EXPECT_EQ(done, execution.done);
}

TEST(VerifyExecution, TheWindowMakesNoDifference) {
  Random random(3);
  int complete = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    const auto programs = random_programs(random);
    Messages messages;
    if (check_matching(programs, messages)) continue;
    const Execution narrow = execute(programs, messages, {.window = 1, .one_peer = false});
    for (const std::uint32_t window : {2u, 3u, kUnbounded}) {
      ASSERT_EQ(execute(programs, messages, {window, false}).done, narrow.done);
    }
    expect_in_order(programs, messages, narrow);
    if (narrow.complete) ++complete;
  }
  // Complete and incomplete executions occurred.
  EXPECT_GT(complete, kRounds / 20);
  EXPECT_LT(complete, kRounds * 19 / 20);
}

// No await is passed before all that it counts.
TEST(VerifyExecution, AwaitsWaitForTheirFlags) {
  Random random(5);
  int awaits = 0;
  for (int round = 0; round < 500; ++round) {
    const auto programs = random_programs(random);
    Messages messages;
    if (check_matching(programs, messages)) continue;
    std::vector<Rank> counts(static_cast<std::size_t>(programs[0].flags));
    for (const Step step : execute(programs, messages, {}).steps) {
      const Operation& op = programs[static_cast<std::size_t>(step.rank)].operations[step.index];
      if (op.kind == OpKind::signal) ++counts[static_cast<std::size_t>(op.flag)];
      if (op.kind != OpKind::await) continue;
      ASSERT_EQ(counts[static_cast<std::size_t>(op.flag)], op.count);
      ++awaits;
    }
  }
  EXPECT_GT(awaits, 100);
}

// Nobody signals as often as is waited for: the rule `flags` finds it first, but not here.
TEST(VerifyExecution, AnAwaitOfMoreThanAllCountsIsNamed) {
  Program program;
  Operation await;
  await.kind = OpKind::await;
  await.flag = 0;
  await.count = 1;
  program.flags = 1;
  program.operations = {await};
  program.after = {{}};
  Messages messages;
  ASSERT_FALSE(check_matching({&program, 1}, messages));
  Execution execution;
  const Finding found = check_deadlock({&program, 1}, messages, execution);
  ASSERT_TRUE(found);
  EXPECT_NE(found->text.find("waits for more than all counts of flag 0 of node 0"),
            std::string::npos)
      << found->text;
}

// The second receive of rank 1 could be posted, but comes in turn after the first.
TEST(VerifyExecution, TheCycleGoesThroughTheTurnOfAMessage) {
  std::vector<Program> programs(2);
  programs[0].operations = {recv(1), send(1), send(1)};
  programs[0].after = {{}, {0}, {}};
  programs[1].me = 1;
  programs[1].operations = {recv(0), recv(0), send(0)};
  programs[1].after = {{}, {}, {1}};
  Messages messages;
  ASSERT_FALSE(check_matching(programs, messages));
  Execution execution;
  const Finding found = check_deadlock(programs, messages, execution);
  ASSERT_TRUE(found);
  const std::string cycle = found->text.substr(found->text.find("cycle: "));
  EXPECT_EQ(cycle,
            "cycle: rank 1, operation 0 (recv scratch[0:1] from 0) -> rank 0, operation 1 (send "
            "scratch[0:1] to 1) -> rank 0, operation 0 (recv scratch[0:1] from 1) -> rank 1, "
            "operation 2 (send scratch[0:1] to 0) -> rank 1, operation 1 (recv scratch[0:1] from "
            "0) -> the first again");
}

// Rank 0 receives from 1 first, whose message waits for one of 2. This waits until 0 has received
// 2's first message.
TEST(VerifyExecution, ReceivingFromOnePeerAtATimeMustNotBlock) {
  std::vector<Program> programs(3);
  programs[0].operations = {recv(1), recv(2)};
  programs[0].after = {{}, {}};
  programs[1].me = 1;
  programs[1].operations = {recv(2), send(0)};
  programs[1].after = {{}, {0}};
  programs[2].me = 2;
  programs[2].operations = {send(0), send(1)};
  programs[2].after = {{}, {0}};
  Messages messages;
  ASSERT_FALSE(check_matching(programs, messages));
  Execution execution;
  const Finding found = check_deadlock(programs, messages, execution);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text.find("where one peer at a time is received from: "), 0U);
  EXPECT_NE(found->text.find("(recv scratch[0:1] from 2) -> rank 0, operation 0"),
            std::string::npos)
      << found->text;
  EXPECT_TRUE(execute(programs, messages, {.window = 1, .one_peer = false}).complete);
}

}  // namespace
}  // namespace latecomer::verifier
