// Every rule of the verifier has a committed schedule here, <rule>.txt, that breaks it and none of
// the rules before it.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "negative/schedule_file.hpp"
#include "verify/verify.hpp"

namespace latecomer {
namespace {

std::set<std::string> rule_names() {
  std::set<std::string> names;
  for (const Rule& rule : rules()) names.emplace(rule.name);
  return names;
}

std::set<std::string> file_names() {
  std::set<std::string> names;
  const std::filesystem::path folder = std::filesystem::path(LATECOMER_TEST_DATA) / "negative";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") names.insert(entry.path().stem().string());
  }
  return names;
}

std::string counterexample(std::string_view rule) {
  const Schedule schedule = testing::broken_schedule(rule);
  const auto found = verify(schedule);
  return found ? std::string(found->rule) + ": " + found->text : "none";
}

TEST(NegativeRules, EveryRuleHasItsFileAndEveryFileItsRule) {
  EXPECT_EQ(file_names(), rule_names());
}

TEST(NegativeRules, EachFileIsRejectedByItsRule) {
  for (const Rule& rule : rules()) {
    const Schedule schedule = testing::broken_schedule(rule.name);
    const auto found = verify(schedule);
    ASSERT_TRUE(found.has_value()) << rule.name << ".txt passes";
    EXPECT_EQ(found->rule, rule.name) << found->text;
  }
}

TEST(NegativeRules, FilesSurviveTheirTextForm) {
  for (const Rule& rule : rules()) {
    const Schedule schedule = testing::broken_schedule(rule.name);
    const Schedule again = parse_schedule(to_text(schedule));
    EXPECT_EQ(again.plan, schedule.plan) << rule.name;
    EXPECT_EQ(again.programs, schedule.programs) << rule.name;
  }
}

// The texts are what users read: they name the rank, the operation and its fault.
TEST(NegativeRules, CounterexamplesAreReadable) {
  EXPECT_EQ(counterexample("hazard"),
            "hazard: rank 0, operation 3 (combine input[0:1] output[0:1] into right) does not wait "
            "for operation 2 (recv output[0:1] from 1), which touches the same elements");
  EXPECT_EQ(
      counterexample("race"),
      "race: rank 1, operation 2 (copy node[0:1] to output[0:1]) and rank 0, operation 1 "
      "(accumulate input[0:1] to node[0:1] flag 0) touch the same elements of the buffer of node "
      "0, at least one writes them, and nothing orders the two");
  EXPECT_EQ(counterexample("flags"),
            "flags: rank 1, operation 2 (await node[0:1] flag 0 count 1) should wait for all "
            "signals and accumulates on the flag: node 0 has 2");
  EXPECT_EQ(counterexample("matching"),
            "matching: rank 1, operation 4 (send output[0:1] to 0) is send number 1 and has no "
            "receive: rank 0 receives 1 message from rank 1");
  EXPECT_EQ(counterexample("once"),
            "once: rank 0, operation 4 (combine input[0:1] output[0:1] into right): the left "
            "operand holds element 0 of rank 0, the right one element 0 of ranks (0 1); a rank "
            "would contribute twice");
  EXPECT_EQ(counterexample("delivery"),
            "delivery: rank 0 ends with output[0:1] holding element 0 of rank 0, should hold "
            "element 0 of all 2 ranks");
  EXPECT_EQ(counterexample("same-tree"),
            "same-tree: rank 1 ends with output[0:1] holding element 0 of ranks (1 0) where rank 0 "
            "has ranks (0 1): the last bits may differ");
  EXPECT_EQ(
      counterexample("same-slices"),
      "same-slices: rank 1 ends with output[0:1] holding element 0 of ranks (0 1), combined in "
      "other slices than on rank 0: the last bits may differ");
}

TEST(NegativeRules, DeadlockShowsWhoWaitsForWhatAndACycle) {
  EXPECT_EQ(counterexample("deadlock"),
            "deadlock: with every window: rank 0, operation 1 (recv output[0:1] from 1) waits for "
            "its partner rank 1, operation 2 (send input[0:1] to 0); rank 1, operation 1 (recv "
            "output[0:1] from 0) waits for its partner rank 0, operation 2 (send input[0:1] to 1); "
            "cycle: rank 1, operation 1 (recv output[0:1] from 0) -> rank 0, operation 2 (send "
            "input[0:1] to 1) -> rank 0, operation 1 (recv output[0:1] from 1) -> rank 1, "
            "operation 2 (send input[0:1] to 0) -> the first again");
}

}  // namespace
}  // namespace latecomer
