#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "latecomer/latecomer.h"
#include "reference/sweeps.hpp"

namespace {

latecomer_problem problem(const char* algorithm) {
  latecomer_problem all{};
  all.collective = "allreduce";
  all.algorithm = algorithm;
  all.ranks = 4;
  all.count = 16;
  all.element_bytes = 4;
  all.commutative = 1;
  return all;
}

std::string take(char* text) {
  const std::string copy = text == nullptr ? "(null)" : text;
  latecomer_free(text);
  return copy;
}

TEST(CoreApi, BuildsPrintsAndVerifies) {
  const auto asked = problem("sorted_linear_tree:segments=2");
  char* text = nullptr;
  ASSERT_EQ(latecomer_plan(&asked, &text), 0) << latecomer_last_error();
  const std::string plan = take(text);
  EXPECT_EQ(plan.rfind("latecomer-plan 1\nalgorithm sorted_linear_tree\n", 0), 0u);
  ASSERT_EQ(latecomer_program(&asked, -1, &text), 0);
  const std::string programs = take(text);
  ASSERT_EQ(latecomer_program(&asked, 3, &text), 0);
  EXPECT_NE(programs.find(take(text)), std::string::npos);
  ASSERT_EQ(latecomer_verify(&asked, &text), 0);
  EXPECT_EQ(text, nullptr);
  ASSERT_EQ(latecomer_verify_text((plan + programs).c_str(), &text), 0);
  EXPECT_EQ(text, nullptr);
}

TEST(CoreApi, ABrokenTextHasACounterexample) {
  const auto asked = problem("ring");
  char* text = nullptr;
  ASSERT_EQ(latecomer_plan(&asked, &text), 0);
  std::string schedule = take(text);
  ASSERT_EQ(latecomer_program(&asked, -1, &text), 0);
  schedule += take(text);
  schedule.replace(schedule.find("to 1"), 4, "to 2");
  ASSERT_EQ(latecomer_verify_text(schedule.c_str(), &text), 0);
  EXPECT_EQ(take(text).rfind("matching: ", 0), 0u);
}

TEST(CoreApi, Simulates) {
  auto asked = problem("ring");
  const std::vector<double> arrivals = {0, 0, 5, 0};
  asked.arrivals = arrivals.data();
  asked.network = "alpha=1s,beta=0,gamma=0";
  std::vector<double> exits(4);
  ASSERT_EQ(latecomer_simulate(&asked, exits.data()), 0) << latecomer_last_error();
  for (const double exit : exits) EXPECT_GE(exit, 6);
}

TEST(CoreApi, SimulatesArrivalsBelowZero) {
  auto asked = problem("online_owners");
  asked.count = 100000;
  std::vector<double> arrivals = {0, 0, 0, 0.01};
  asked.arrivals = arrivals.data();
  std::vector<double> late(4);
  ASSERT_EQ(latecomer_simulate(&asked, late.data()), 0) << latecomer_last_error();
  for (double& arrival : arrivals) arrival -= 1;
  std::vector<double> early(4);
  ASSERT_EQ(latecomer_simulate(&asked, early.data()), 0) << latecomer_last_error();
  for (int rank = 0; rank < 4; ++rank) EXPECT_NEAR(early[rank] + 1, late[rank], 1e-9);
}

TEST(CoreApi, ErrorsAreToldAndForgotten) {
  char* text = nullptr;
  auto asked = problem("rong");
  EXPECT_EQ(latecomer_plan(&asked, &text), -1);
  EXPECT_NE(std::string(latecomer_last_error()).find("'rong' is not usable"), std::string::npos);
  EXPECT_EQ(latecomer_plan(nullptr, &text), -1);
  asked = problem("ring");
  asked.network = "beta=fast";
  EXPECT_EQ(latecomer_plan(&asked, &text), -1);
  EXPECT_EQ(latecomer_verify_text("nonsense", &text), -1);
  EXPECT_EQ(latecomer_algorithms(&text), 0);
  EXPECT_STREQ(latecomer_last_error(), "");
  EXPECT_NE(take(text).find("prereduced_ring"), std::string::npos);
  EXPECT_STRNE(latecomer_version(), "");
}

/// Without any memory an error is still a code, also the first one of a thread.
TEST(CoreApi, AnErrorNeedsNoMemory) {
  if (latecomer::testing::kSanitized) GTEST_SKIP() << "the sanitizer reserves the address space";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto without_memory = [] {
    const rlimit none = {0, 0};
    if (setrlimit(RLIMIT_AS, &none) != 0) std::_Exit(1);
    for (std::size_t size = 1 << 20; size > 0; size /= 2) {
      while (std::malloc(size) != nullptr) {
      }
    }
    char* text = nullptr;
    const bool told = latecomer_plan(nullptr, &text) == -1 && latecomer_last_error() != nullptr;
    std::_Exit(told ? 0 : 2);
  };
  EXPECT_EXIT(without_memory(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
