#include "base/network.hpp"

#include <gtest/gtest.h>

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

TEST(Network, WithoutABurstMessagesTakeAsLongAsAlone) {
  const Network network{.alpha = 1e-3, .beta = 1e-6};
  EXPECT_DOUBLE_EQ(network.following(3000), network.occupancy(3000));
}

}  // namespace
}  // namespace latecomer
