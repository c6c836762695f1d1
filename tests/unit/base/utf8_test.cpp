#include <gtest/gtest.h>

#include "base/reproducible.hpp"
#include "base/text.hpp"

namespace latecomer {
namespace {

TEST(Printable, ShowsTextAsItIs) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("rank 3 on host n\xc3\xb6rd"), "rank 3 on host n\xc3\xb6rd");
  EXPECT_EQ(printable("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

TEST(Printable, EscapesWhatATerminalMayObey) {
  EXPECT_EQ(printable("a\x1b[31mb\n"), "a\\x1b[31mb\\x0a");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // C1's: begins a command, too
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, EscapesBytesThatAreNoText) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("temp\xe9rature"), "temp\\xe9rature");  // Latin-1
  EXPECT_EQ(printable("\xc3"), "\\xc3");                      // cut off
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");    // half a character of UTF-16
}

TEST(Printable, IsAlwaysTextThatIsLeftAlone) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    std::string bytes;
    for (auto i = random.below(12); i > 0; --i) bytes += static_cast<char>(random.below(256));
    const std::string shown = printable(bytes);
    EXPECT_TRUE(is_utf8(shown)) << seed;
    EXPECT_EQ(printable(shown), shown) << seed;
  }
}

}  // namespace
}  // namespace latecomer
