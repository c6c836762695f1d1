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

TEST(Json, ReplacesWhatIsNoText) {
  EXPECT_EQ(json_quoted("temp\xe9rature"), "\"temp\\ufffdrature\"");  // Latin-1
  EXPECT_EQ(json_quoted("\xc3"), "\"\\ufffd\"");
  EXPECT_EQ(json_quoted("\xed\xa0\x80"),
            "\"\\ufffd\\ufffd\\ufffd\"");  // half a character of UTF-16
  EXPECT_EQ(json_quoted("\xf4\x8f\xbf\xbf"), "\"\xf4\x8f\xbf\xbf\"");
  EXPECT_EQ(json_quoted("\xf4\x90\x80\x80").size(), 2 + 4 * 6U);
}

TEST(Json, ListsHaveCommasBetweenTheirItems) {
  const auto text = [](int item) { return std::to_string(item); };
  EXPECT_EQ(json_list(std::vector<int>{}, text), "[]");
  EXPECT_EQ(json_list(std::vector<int>{1, 22, 3}, text), "[1,22,3]");
}

}  // namespace
}  // namespace latecomer
