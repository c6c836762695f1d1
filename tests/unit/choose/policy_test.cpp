// The settings of a communicator.
#include "choose/policy.hpp"

#include <gtest/gtest.h>

namespace latecomer {
namespace {

// Sender and receiver must cut messages alike. In reproducible mode the ranks' networks may differ.
TEST(Policy, LongMessagesGoInPiecesWhereTheAgreedNetworkSlowsExchanges) {
  Policy policy;
  EXPECT_FALSE(policy.sends_in_pieces());
  policy.network.exchange = 1.3;
  EXPECT_TRUE(policy.sends_in_pieces());
  policy.reproducible = true;
  EXPECT_EQ(policy.network_of_plans(), kReproducible);
  EXPECT_FALSE(policy.sends_in_pieces());
}

}  // namespace
}  // namespace latecomer
