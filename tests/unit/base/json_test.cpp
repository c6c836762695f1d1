#include "base/json.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace latecomer {
namespace {

TEST(Json, EscapesWhatMustBe) {
  EXPECT_EQ(json_quoted("plain"), "\"plain\"");
  EXPECT_EQ(json_quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(json_quoted("\x1b[2J\n"), "\"\\u001b[2J\\u000a\"");
  EXPECT_EQ(json_quoted("\xc3\xa9"), "\"\xc3\xa9\"");
}

TEST(Json, ListsHaveCommasBetweenTheirItems) {
  const auto text = [](int item) { return std::to_string(item); };
  EXPECT_EQ(json_list(std::vector<int>{}, text), "[]");
  EXPECT_EQ(json_list(std::vector<int>{1, 22, 3}, text), "[1,22,3]");
}

}  // namespace
}  // namespace latecomer
