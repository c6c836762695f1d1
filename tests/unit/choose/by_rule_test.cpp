// Decisions by the user's rules.
#include <gtest/gtest.h>

#include <algorithm>

#include "choose/chooser.hpp"
#include "rules/rules.hpp"

namespace latecomer {
namespace {

const Problem kCall{Collective::allreduce, 4, 1 << 18, 4};

std::shared_ptr<const UserRules> rules_of(const std::string& rules, const std::string& more = "",
                                          std::string_view collective = "allreduce") {
  const std::string text = R"({"rule_file_version": 1, "module": "latecomer", "collectives": {")" +
                           std::string(collective) + R"(": [{)" + more + R"("rules": [)" + rules +
                           "]}]}}";
  return std::make_shared<const UserRules>(read_rules(text, "rules"));
}

Chooser chooser_with(std::shared_ptr<const UserRules> rules, std::string_view set = "auto") {
  Chooser chooser(0, 4);
  chooser.policy().choice(Collective::allreduce) = parse_choice(Collective::allreduce, set);
  chooser.policy().rules = std::move(rules);
  return chooser;
}

Decision decide(Chooser& chooser, std::vector<Seconds> arrivals = {}) {
  chooser.policy().given = std::move(arrivals);
  return chooser.decide(kCall);
}

constexpr const char* kLate = R"({"imbalance_min": 1, "alg": "linear_tree:segments=4"},)";

TEST(DecisionsByRule, AFixedChoiceIsAsIfItWereSet) {
  Chooser chooser = chooser_with(rules_of(R"({"alg": "ring"})"));
  EXPECT_FALSE(chooser.chooses(kCall));
  EXPECT_EQ(chooser.calm_choice(kCall).algorithm->name, "ring");
  const Decision decision = decide(chooser);
  ASSERT_TRUE(decision.plan);
  EXPECT_EQ(decision.plan->algorithm, "ring");
  EXPECT_TRUE(chooser.ruled());
}

TEST(DecisionsByRule, RulesRefineNothingButAuto) {
  Chooser chooser = chooser_with(rules_of(R"({"alg": "ring"})"), "recursive_doubling");
  EXPECT_EQ(decide(chooser).plan->algorithm, "recursive_doubling");
  EXPECT_FALSE(chooser.ruled());
}

TEST(DecisionsByRule, ARuleForTheLibraryNeedsNoClass) {
  const Chooser chooser = chooser_with(rules_of(R"({"alg": "native"})"));
  EXPECT_FALSE(chooser.chooses(kCall));
  EXPECT_EQ(chooser.calm_choice(kCall).algorithm->name, "native");
}

/// One rank may have set another one before the others.
TEST(DecisionsByRule, TheNetworkIsTheAgreedOne) {
  Chooser chooser = chooser_with(rules_of(std::string(kLate) + R"({"alg": "native"})"));
  chooser.agree_on_network();
  const Seconds transfer = chooser.agreed_network().transfer(kCall.bytes());
  const std::vector<Seconds> arrivals{0, 0, 0, 2 * transfer};
  EXPECT_NE(decide(chooser, arrivals).plan, nullptr);
  chooser.policy().network.beta *= 100;
  EXPECT_NE(decide(chooser, arrivals).plan, nullptr);
  chooser.agree_on_network();
  EXPECT_EQ(decide(chooser, arrivals).plan, nullptr);
}

TEST(DecisionsByRule, ArrivalsChoose) {
  Chooser chooser = chooser_with(rules_of(std::string(kLate) + R"({"alg": "native"})"));
  EXPECT_TRUE(chooser.chooses(kCall));  // the library's calls are watched
  EXPECT_EQ(decide(chooser).action, Decision::Action::library);
  EXPECT_TRUE(chooser.ruled());
  const Decision late = decide(chooser, {0, 1, 0, 0});
  ASSERT_TRUE(late.plan);
  EXPECT_EQ(late.plan->algorithm, "linear_tree");
  EXPECT_EQ(late.plan->parameters.at("segments"), 4);
  EXPECT_EQ(decide(chooser, {0, 1e-6, 0, 0}).action, Decision::Action::library);
}

TEST(DecisionsByRule, AutoIsDecidedAsWithoutRules) {
  Chooser chooser = chooser_with(rules_of(std::string(kLate) + R"({"alg": "auto"})"));
  EXPECT_TRUE(chooser.chooses(kCall));
  EXPECT_EQ(decide(chooser).action, Decision::Action::library);
  EXPECT_FALSE(chooser.ruled());
  EXPECT_TRUE(decide(chooser, {0, 1, 0, 0}).plan);
  EXPECT_TRUE(chooser.ruled());
}

TEST(DecisionsByRule, ReproducibleChoicesDoNotFollowArrivals) {
  Chooser chooser = chooser_with(rules_of(std::string(kLate) + R"({"alg": "ring"})"));
  chooser.policy().reproducible = true;
  EXPECT_FALSE(chooser.chooses(kCall));
  EXPECT_EQ(decide(chooser, {0, 1, 0, 0}).plan->algorithm, "ring");
}

TEST(DecisionsByRule, PlacementCountsOnceItIsKnown) {
  Chooser chooser =
      chooser_with(rules_of(R"({"alg": "ring"})", R"("comm_rank_distribution": "single-node",)"));
  EXPECT_EQ(chooser.calm_choice(kCall).algorithm->name, "auto");
  chooser.connected(1);
  chooser.place({0, 0, 0, 0});
  EXPECT_EQ(chooser.calm_choice(kCall).algorithm->name, "ring");
}

TEST(DecisionsByRule, SizesUnderOtherRulesAreOtherClasses) {
  Chooser chooser = chooser_with(rules_of(
      R"({"imbalance_min": 1, "msg_size_max": 1048575, "alg": "ring"}, {"alg": "native"})"));
  Problem shorter = kCall;
  shorter.count -= 1;
  EXPECT_NE(&chooser.class_of(kCall), &chooser.class_of(shorter));
}

TEST(DecisionsByRule, CallsAreNotAnnouncedWhereARuleMayChooseAProtocol) {
  const auto waits = [](const Algorithm& row) {
    return row.kind == Kind::protocol && !row.runs_ahead;
  };
  const auto protocol = std::ranges::find_if(registry(), waits);
  ASSERT_NE(protocol, registry().end());
  Problem problem = kCall;
  problem.collective = protocol->collective;
  const auto may_run_ahead = [&](const std::string& name) {
    Chooser chooser(0, 4);
    chooser.policy().choice(problem.collective) = parse_choice(problem.collective, "auto");
    const std::string rule = R"({"imbalance_min": 1, "alg": ")" + name + R"("}, {"alg": "native"})";
    chooser.policy().rules = rules_of(rule, "", to_string(problem.collective));
    return chooser.may_run_ahead(problem);
  };
  EXPECT_FALSE(may_run_ahead(std::string(protocol->name)));
  EXPECT_TRUE(may_run_ahead("native"));
}

}  // namespace
}  // namespace latecomer
