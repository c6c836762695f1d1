#include "schedule/placement.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace latecomer {
namespace {

TEST(Placement, NodesAreThoseOfAPlacement) {
  const Nodes nodes({0, 1, 0, 1}, 4);
  EXPECT_EQ(nodes.count(), 2);
  EXPECT_EQ(nodes.ranks(1), (std::vector<Rank>{1, 3}));
  EXPECT_EQ(nodes.place(2), 1);
  EXPECT_EQ(Nodes({}, 3).count(), 3);
}

TEST(Placement, NodesAreNotMadeOfWhatIsNone) {
  const std::vector<Placement> wrong = {{0, -1, 0, 0}, {0, 0}, {0, 2, 0, 1}, {0, 0, 0, 0, 0}};
  for (const Placement& each : wrong) EXPECT_THROW(Nodes(each, 4), Error);
}

TEST(Placement, NodesHaveNumbersOfAnySizeThatARankHas) {
  EXPECT_EQ(parse_placement("2147483647,0,2147483647", 3), (Placement{0, 1, 0}));
  EXPECT_THROW((void)parse_placement("4294967296,0", 2), Error);  // 0 in 32 bits
}

}  // namespace
}  // namespace latecomer
