#include <gtest/gtest.h>

#include <string>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/reproducible.hpp"
#include "price/price.hpp"

namespace latecomer {
namespace {

TEST(NetworkParts, ScaledNetworksHaveOtherCosts) {
  const Network network{.handshake = 1e-4, .exchange = 1.2};
  const Network other = scaled(network, {log_of(2), log_of(3), log_of(4), log_of(1.5)});
  EXPECT_NEAR(other.alpha, 2 * network.alpha, 1e-12);
  EXPECT_NEAR(other.handshake, 2 * network.handshake, 1e-12);
  EXPECT_NEAR(other.beta, 3 * network.beta, 1e-17);
  EXPECT_NEAR(other.gamma, 4 * network.gamma, 1e-17);
  EXPECT_NEAR(other.exchange, 1.8, 1e-9);
  EXPECT_EQ(scaled(network, {0, 0, 0, log_of(0.1)}).exchange, 1);
}

TEST(NetworkParts, ScalesAreFoundAgain) {
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  Network network;
  network.exchange = 2;
  for (int i = 0; i < 100; ++i) {
    NetworkParts logarithms{};
    for (double& each : logarithms) each = 4 * random.uniform() - 0.5;  // exchanges stay above 1
    const NetworkParts found = scale_of(scaled(network, logarithms), network);
    for (std::size_t part = 0; part < found.size(); ++part)
      EXPECT_NEAR(found[part], logarithms[part], 1e-9) << part;
  }
  network.gamma = 0;
  EXPECT_EQ(scale_of(scaled(network, {1, 1, 1, 1}), network)[2], 0);
}

/// Start-ups, bytes and combining make up the whole price of a program.
TEST(NetworkParts, SharesOfAPriceSumUpToIt) {
  const Network network{.handshake = 1e-4};
  for (const char* const name : {"ring", "rabenseifner", "recursive_doubling", "fastest"}) {
    for (const Count count : {Count{1}, Count{1} << 12, Count{1} << 20}) {
      const Problem problem{Collective::allreduce, 8, count, 4};
      const Plan plan = make_plan(find_algorithm(Collective::allreduce, name), problem, {}, {});
      const NetworkParts shares = shares_of_price(plan, network);
      EXPECT_NEAR(shares[0] + shares[1] + shares[2], 1, 0.02) << name << " " << count;
      EXPECT_GE(shares[3], 0);
      EXPECT_GT(count == 1 ? shares[0] : shares[1], count == 1 ? 0.99 : 0.0);
    }
  }
}

TEST(NetworkParts, ExchangesMakeUpAPriceWhereRanksSendEachOther) {
  const Problem problem{Collective::allreduce, 8, 1 << 20, 4};
  const auto share = [&](const char* name) {
    const Plan plan = make_plan(find_algorithm(Collective::allreduce, name), problem, {}, {});
    return shares_of_price(plan, {})[3];
  };
  EXPECT_EQ(share("ring"), 0);
  EXPECT_GT(share("recursive_doubling"), 0.9);
}

TEST(NetworkParts, APlanThatTakesNoTimeHasNone) {
  const Plan plan = make_plan(find_algorithm(Collective::allreduce, "ring"),
                              {Collective::allreduce, 1, 100, 4}, {}, {});
  EXPECT_EQ(shares_of_price(plan, {}), NetworkParts{});
}

}  // namespace
}  // namespace latecomer
