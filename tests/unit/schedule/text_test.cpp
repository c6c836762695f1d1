#include <gtest/gtest.h>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"

namespace latecomer {
namespace {

const std::string kProgram =
    "latecomer-program 1\nplan 00000000000000ff\nrank 0 of 2\nbuffers input 4 output 4 scratch 4\n"
    "in-place no\ncommutative yes\nprogress foreground\n0 arrive\n1 send input[0:4] to 1 after 0\n"
    "end\n";

std::string plan_text() {
  return to_text(make_plan(find_algorithm(Collective::allreduce, "ring"),
                           {Collective::allreduce, 2, 4}, {}, {}));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

/// The error of a schedule with this program.
std::string error_of(const std::string& program) {
  try {
    (void)parse_schedule(plan_text() + program);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Text, CommentsAndEmptyLinesAreSkipped) {
  const Schedule schedule = parse_schedule("# a comment\n\n" + plan_text() + "# more\n" + kProgram);
  EXPECT_EQ(schedule.plan.algorithm, "ring");
  ASSERT_EQ(schedule.programs.size(), 1u);
  EXPECT_EQ(schedule.programs[0].plan_hash, 255u);
  EXPECT_EQ(to_text(schedule.programs[0]), kProgram);
}

/// The program with more lines before its operations.
std::string program_with(const std::string& lines) {
  return replaced(kProgram, "progress foreground\n", "progress foreground\n" + lines);
}

TEST(Text, WhatAHeaderMayHoldBesidesIsReadBackAsItWasWritten) {
  struct Case {
    std::string lines;
    bool paced;
    std::vector<OpIndex> piggybacking;
  };
  const Case cases[] = {{"receiver-paced yes\n", true, {}},
                        {"telling 1\n", false, {1}},
                        {"receiver-paced yes\ntelling 0 1\n", true, {0, 1}}};
  for (const auto& [lines, paced, piggybacking] : cases) {
    const std::string text = program_with(lines);
    const Program program = parse_schedule(plan_text() + text).programs.at(0);
    EXPECT_EQ(program.receiver_paced, paced) << lines;
    EXPECT_EQ(program.piggybacking, piggybacking) << lines;
    EXPECT_EQ(to_text(program), text);
  }
}

TEST(Text, AWrongLineIsSaidWithWhatWouldBeRight) {
  const std::pair<std::string, std::string> wrong[] = {
      {"receiver-paced maybe", "yes or no"},
      {"receiver-paced yes no", "no further words"},
      {"telling 1 x", "a whole number instead of x"},
  };
  for (const auto& [line, right] : wrong) {
    EXPECT_EQ(error_of(program_with(line + "\n")),
              "line: '" + line + "' is not usable; right would be " + right);
  }
}

TEST(Text, EveryWrongLineIsNamed) {
  const std::pair<std::string, std::string> wrong[] = {
      {"latecomer-program 1", "latecomer-program 2"},
      {"rank 0 of 2", "rank zero of 2"},
      {"rank 0 of 2", "rank 0 of 2 more"},
      {"scratch 4", "scratch 4 5"},
      {"in-place no", "in-place no yes"},
      {"in-place no", "in-place maybe"},
      {"progress foreground", "progress sideways"},
      {"0 arrive", "0 depart"},
      {"1 send", "7 send"},
      {"input[0:4]", "input(0:4)"},
      {"input[0:4]", "heap[0:4]"},
      {"input[0:4]", "input[0:x]"},
      {"to 1", "from 1"},
      {"after 0", "after x"},
      {"after 0", "before 0"},
      {"after 0\nend\n", "after 0\n"},
  };
  for (const auto& [from, to] : wrong) {
    EXPECT_THROW((void)parse_schedule(plan_text() + replaced(kProgram, from, to)), Error) << to;
  }
  EXPECT_THROW((void)parse_plan(replaced(plan_text(), "ranks 2", "ranks 0")), Error);
  EXPECT_THROW((void)parse_plan(replaced(plan_text(), "allreduce", "all-to-all")), Error);
  EXPECT_THROW((void)parse_plan(replaced(plan_text(), "order", "odor")), Error);
  EXPECT_THROW((void)parse_plan(replaced(plan_text(), "order 0 1", "order 0 0")), Error);
  EXPECT_THROW((void)parse_plan(replaced(plan_text(), "order 0 1", "order 0")), Error);
  EXPECT_THROW((void)parse_plan(plan_text() + "more"), Error);
  EXPECT_THROW((void)parse_plan(""), Error);
}

TEST(Text, APlanHasAtMostTwoInnerPlans) {
  const auto with = [](int count) {
    std::string inner;
    for (int i = 0; i < count; ++i) inner += "inner\n" + plan_text();
    return replaced(plan_text(), "end\n", inner + "end\n");
  };
  EXPECT_EQ(parse_plan(with(2)).inner.size(), 2u);
  try {
    (void)parse_plan(with(3));
    FAIL() << "three inner plans were read";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "line: 'inner' is not usable; right would be two inner plans at most");
  }
}

TEST(PlanHash, DependsOnAllThatRanksAgreeOnAndOnNothingLocal) {
  const Plan plan = parse_plan(plan_text());
  Plan other = plan;
  other.problem.in_place = true;
  EXPECT_EQ(hash(other), hash(plan));
  other = plan;
  other.order = {1, 0};
  EXPECT_NE(hash(other), hash(plan));
  other = plan;
  other.problem.count = 5;
  EXPECT_NE(hash(other), hash(plan));
  other = plan;
  other.parameters["segments"] = 3;
  EXPECT_NE(hash(other), hash(plan));
}

}  // namespace
}  // namespace latecomer
