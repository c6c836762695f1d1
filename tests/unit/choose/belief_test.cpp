#include "choose/belief.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/reproducible.hpp"

namespace latecomer {
namespace {

/// A belief about the library and a few programs whose prices rest on start-ups and bytes in
/// different parts.
struct BelievedCosts {
  Belief belief;
  std::vector<Belief::Arm> arms;

  explicit BelievedCosts(const std::vector<double>& prices) {
    arms.push_back(
        {belief.index_of("native", Belief::kLibrary), log_of(prices.front()), {0.5, 0.5}});
    for (std::size_t i = 0; i < prices.size(); ++i) {
      const double startups = static_cast<double>(i) / static_cast<double>(prices.size());
      const std::string name = "program " + std::to_string(i);
      arms.push_back(
          {belief.index_of(name, Belief::kProgram), log_of(prices[i]), {startups, 1 - startups}});
    }
  }
  void learn(std::size_t arm, double cost) {
    belief.learn(arms[arm], cost * exp_of(-arms[arm].log_price));
  }
  [[nodiscard]] double cost(std::size_t arm) const { return exp_of(belief.log_cost(arms[arm])); }
};

TEST(Belief, ACallSaysSomethingAboutAllThatRestOnTheSameCosts) {
  BelievedCosts costs({1.0, 1.1, 1.2});
  costs.learn(1, 10);  // the network is ten times slower than assumed
  EXPECT_NEAR(costs.cost(1), 10, 1);
  EXPECT_NEAR(costs.cost(2), 11, 2);
  EXPECT_GT(costs.cost(0), 5);
}

TEST(Belief, TheLibraryMayBeFarFromPrices) {
  BelievedCosts costs({1.0, 1.1});
  costs.learn(1, 1);
  costs.learn(0, 3);
  EXPECT_NEAR(costs.cost(0), 3, 0.3);
  EXPECT_NEAR(costs.cost(1), 1, 0.2);
}

TEST(Belief, ManyCallsEndAtTheirMeanWhateverChanceDoes) {
  Random random(7);
  BelievedCosts costs({1.0, 1.1});
  for (int call = 0; call < 400; ++call) {
    const double chance = random.uniform();  // half of the calls are free, the others cost twice
    costs.learn(1, chance < 0.5 ? 0 : 4);
  }
  EXPECT_GT(costs.cost(1), 1.4);
  EXPECT_LT(costs.cost(1), 2.8);
}

TEST(Belief, OneDisturbedCallMovesLittle) {
  BelievedCosts costs({1.0, 1.1});
  for (int call = 0; call < 8; ++call) costs.learn(1, 1);
  costs.learn(1, 100);
  EXPECT_LT(costs.cost(1), 1.3);
  costs.learn(1, -5);
  EXPECT_GT(costs.cost(1), 0.7);
}

TEST(Belief, WhatWasNotSeenForLongIsLessCertain) {
  BelievedCosts costs({1.0, 1.1});
  for (int call = 0; call < 8; ++call) costs.learn(1, 1);
  const double before = costs.belief.deviation(costs.arms[1]);
  costs.belief.forget(1000);
  EXPECT_GT(costs.belief.deviation(costs.arms[1]), 2 * before);
}

TEST(Belief, ChoosesTheCheapestWhereNothingFollows) {
  BelievedCosts costs({1.2, 1.0, 1.1});
  const Belief::Choice choice = costs.belief.choose(costs.arms, 0);
  EXPECT_EQ(choice.best, choice.chosen);
  EXPECT_EQ(choice.best, 2U);
}

TEST(Belief, TriesWhatMayBeBetterWhereManyCallsFollow) {
  BelievedCosts costs({1.0, 1.05});
  for (int call = 0; call < 20; ++call) costs.learn(1, 1);
  costs.learn(0, 1.2);
  EXPECT_EQ(costs.belief.choose(costs.arms, 0).chosen, 1U);
  EXPECT_NE(costs.belief.choose(costs.arms, 1000).chosen, 1U);
  for (int call = 0; call < 20; ++call) {
    costs.learn(0, 2);
    costs.learn(2, 2);
  }
  EXPECT_EQ(costs.belief.choose(costs.arms, 1000).chosen, 1U);
}

TEST(Belief, PricesThatHaveChangedNeedNoCorrection) {
  BelievedCosts costs({1.0, 1.1});
  costs.learn(1, 10);
  const NetworkParts off = costs.belief.corrections();
  const double before = costs.cost(2);
  costs.belief.rebase(off);
  for (Belief::Arm& arm : costs.arms) {
    for (std::size_t part = 0; part < off.size(); ++part)
      arm.log_price += arm.shares[part] * off[part];
  }
  EXPECT_NEAR(costs.cost(2), before, 1e-6);
  EXPECT_EQ(costs.belief.corrections(), NetworkParts{});
}

TEST(Belief, AnotherOneInheritsTheNetworkAlone) {
  BelievedCosts costs({1.0, 1.1});
  for (int call = 0; call < 8; ++call) costs.learn(1, 10);
  Belief heir;
  heir.inherit(costs.belief);
  const Belief::Arm arm{heir.index_of("another", Belief::kProgram), log_of(1.0), {0.5, 0.5}};
  EXPECT_NEAR(exp_of(heir.log_cost(arm)), 10, 3);
  EXPECT_FALSE(heir.knows("program 0"));
}

}  // namespace
}  // namespace latecomer
