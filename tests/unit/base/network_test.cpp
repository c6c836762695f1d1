#include "base/network.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"

namespace latecomer {
namespace {

/// While a message starts up the bucket fills by as much as the link would have passed.
TEST(Network, MessagesThatFollowEachOtherMakeUpForStartUps) {
  const Network network{.alpha = 1e-3, .beta = 1e-6, .burst = 5000};
  EXPECT_DOUBLE_EQ(network.following(3000), 3e-3);
  EXPECT_DOUBLE_EQ(network.following(1000), 1e-3);
  EXPECT_DOUBLE_EQ(network.following(10), 1e-3);  // start-ups alone
}

TEST(Network, AShortBurstMakesUpForPartOfAStartUp) {
  const Network network{.alpha = 1e-3, .beta = 1e-6, .burst = 400};
  EXPECT_DOUBLE_EQ(network.following(3000), 3.6e-3);
}

TEST(Network, RanksANodeAreRanks) {
  EXPECT_EQ(parse_network("per_node=2147483647").per_node, 2147483647);
  for (const std::string count : {"0", "2147483648", "4294967297", "9007199254740992"}) {
    try {
      (void)parse_network("per_node=" + count);
      ADD_FAILURE() << count << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                "network per_node: '" + count + "' is not usable; right would be 1 to 2147483647");
    }
  }
}

TEST(Network, WithoutABurstMessagesTakeAsLongAsAlone) {
  const Network network{.alpha = 1e-3, .beta = 1e-6};
  EXPECT_DOUBLE_EQ(network.following(3000), network.occupancy(3000));
}

}  // namespace
}  // namespace latecomer
