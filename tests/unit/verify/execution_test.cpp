#include "verify/execution.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

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

/// Random messages with random dependencies. The receives of a rank follow, now and then, another
/// order than the sends, so that some of the programs get stuck.
std::vector<Program> random_programs(Random& random) {
  std::vector<Program> programs(kRanks);
  for (Rank rank = 0; rank < kRanks; ++rank) programs[static_cast<std::size_t>(rank)].me = rank;
  for (int message = 0; message < 8; ++message) {
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
