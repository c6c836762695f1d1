#include "rules/rules.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/reproducible.hpp"

namespace latecomer {
namespace {

constexpr std::string_view kText = R"({
  "rule_file_version": 1, "module": "latecomer", "network": "alpha=1ms,beta=0ns",
  "collectives": {
    "allreduce": [
      {"comm_size_min": 2, "comm_size_max": 8, "comm_rank_distribution": "single-node",
       "rules": [{"alg": "native"}]},
      {"comm_size_min": 4, "comm_size_max": 8,
       "rules": [
         {"msg_size_min": 1000, "imbalance_min": 0.5, "late_ranks_max": 1, "alg": "linear_tree"},
         {"msg_size_min": 1000, "msg_size_max": 9999, "alg": "ring", "measured_ratio": 0.5},
         {"msg_size_min": 10000, "msg_size_max": "inf", "alg": "auto", "comment": "long"}]}]
  }})";

Problem vector_of(Count bytes, Rank ranks = 4) { return {Collective::allreduce, ranks, bytes, 1}; }

TEST(UserRules, TheFirstRuleOfTheFirstEntryThatHoldsServesTheCall) {
  const UserRules rules = read_rules(kText, "rules.json");
  const Network network = *rules.network;
  const auto name = [&](const Problem& problem, std::vector<Seconds> arrivals,
                        const Placement* placement = nullptr) -> std::string_view {
    const UserRule* rule = find_rule(rules, problem, {arrivals, placement, &network});
    return rule != nullptr ? rule->choice.algorithm->name : "";
  };
  EXPECT_EQ(name(vector_of(999), {}), "");
  EXPECT_EQ(name(vector_of(1000), {}), "ring");
  EXPECT_EQ(name(vector_of(10000), {}), "auto");
  EXPECT_EQ(name(vector_of(1000, 3), {}), "");
  EXPECT_EQ(name(vector_of(1000, 9), {}), "");
  EXPECT_EQ(name(vector_of(1000), {0, 4.9e-4, 0, 0}), "ring");
  EXPECT_EQ(name(vector_of(1000), {0, 5e-4, 0, 0}), "linear_tree");
  EXPECT_EQ(name(vector_of(1000), {0, 5e-4, 5e-4, 0}), "ring");  // two are late
  const Placement together(4, 0);
  const Placement apart;
  const Placement pairs = {0, 0, 1, 1};
  EXPECT_EQ(name(vector_of(1000), {}, &together), "native");
  EXPECT_EQ(name(vector_of(1000), {}, &apart), "ring");
  EXPECT_EQ(name(vector_of(1000), {}, &pairs), "ring");
  EXPECT_EQ(name({Collective::reduce, 4, 1000, 1}, {}), "");
}

TEST(UserRules, ListsThoseThatOtherArrivalsMayChoose) {
  const UserRules rules = read_rules(kText, "rules.json");
  const Placement apart;
  const auto count = [&](Count bytes, const Placement* placement) {
    return rules_for(rules, vector_of(bytes), {{}, placement, nullptr}).size();
  };
  EXPECT_EQ(count(1000, nullptr), 3U);  // native too, while the placement is not known
  EXPECT_EQ(count(1000, &apart), 2U);
  EXPECT_EQ(count(999, &apart), 0U);
}

TEST(UserRules, LateRanksComeInTheLaterHalfOfTheImbalance) {
  EXPECT_EQ(late_ranks_of({}), 0);
  EXPECT_EQ(late_ranks_of(std::vector<Seconds>{1, 1, 1}), 0);
  EXPECT_EQ(late_ranks_of(std::vector<Seconds>{1, 2, 3, 2.1}), 2);
  EXPECT_EQ(imbalance_of(std::vector<Seconds>{1, 3, 2}), 2);
}

TEST(UserRules, AnImbalanceHasAnUpperBound) {
  const UserRules rules = read_rules(
      R"({"rule_file_version": 1, "module": "latecomer", "network": "alpha=1ms,beta=0ns",
          "collectives": {"allreduce": [{"rules": [{"imbalance_max": 2, "alg": "ring"}]}]}})",
      "rules.json");
  const auto is_found = [&](Seconds late) {
    const std::vector<Seconds> arrivals = {0, late, 0, 0};
    return find_rule(rules, vector_of(1000), {arrivals, nullptr, &*rules.network}) != nullptr;
  };
  EXPECT_TRUE(is_found(0));
  EXPECT_TRUE(is_found(2e-3));  // the transfer takes 1 ms
  EXPECT_FALSE(is_found(2.1e-3));
}

TEST(UserRules, TheExplanationSaysHowTheRanksLie) {
  const UserRules rules = read_rules(kText, "rules.json");
  const std::vector<Seconds> together(4, 0);
  const auto said = [&](const Placement* placement) {
    return consider(rules, vector_of(1000), {together, placement, &*rules.network})
        .front()
        .obstacle;
  };
  const std::string wanted = "for ranks that lie single-node";
  const Placement pairs = {0, 0, 1, 1};
  const Placement alone = {0, 1, 2, 3};
  EXPECT_EQ(said(nullptr), wanted + ", and it is not known how these lie");
  EXPECT_EQ(said(&pairs), wanted + ", and these do not: several nodes with several ranks");
  EXPECT_EQ(said(&alone), wanted + ", and these do not: one-per-node");
}

/// Both see the same obstacles.
TEST(UserRules, TheExplanationEndsWithTheRuleThatIsFound) {
  const UserRules rules = read_rules(kText, "rules.json");
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const Problem problem =
        vector_of(static_cast<Count>(random.below(12000)), static_cast<Rank>(2 + random.below(9)));
    std::vector<Seconds> arrivals(static_cast<std::size_t>(problem.ranks));
    for (Seconds& each : arrivals) each = static_cast<double>(random.below(3)) * 3e-4;
    const Placement together(static_cast<std::size_t>(problem.ranks), 0);
    const RuleFacts facts{arrivals, random.below(2) == 0 ? &together : nullptr, &*rules.network};
    const UserRule* const found = find_rule(rules, problem, facts);
    const auto considered = consider(rules, problem, facts);
    const Considered* const last = considered.empty() ? nullptr : &considered.back();
    const bool holds = last != nullptr && last->rule != nullptr && last->obstacle.empty();
    ASSERT_EQ(found, holds ? last->rule : nullptr);
  }
}

/// Whatever the bytes are: refused by an Error that names the file, or accepted.
TEST(UserRules, SurviveRandomChangesOfAFile) {
  constexpr std::string_view kBytes = "{}[]\",:\\0129e-.n inf\n\x01\xff";
  const std::string_view words[] = {
      "\"alg\"", "\"rules\"", "native",           "1e308",     "-1",  "[[[[", "\"inf\"", "null",
      "{}",      "[]",        "9007199254740993", "allreduce", "min", "max"};
  Random random(23);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text(kText);
    for (auto changes = random.below(3); changes > 0; --changes) {
      const std::size_t at = random.below(text.size());
      const std::size_t length = random.below(12);
      const std::string_view word = words[random.below(std::size(words))];
      const bool byte = random.below(2) == 0;
      text.replace(at, byte ? random.below(2) : length,
                   byte ? std::string(1, kBytes[random.below(kBytes.size())]) : std::string(word));
    }
    try {
      const UserRules rules = read_rules(text, "rules.json");
      ++accepted;
      const Network network;
      (void)find_rule(rules, vector_of(5000), {{}, nullptr, &network});
    } catch (const Error& error) {
      ASSERT_EQ(std::string_view(error.what()).find("rules.json"), 0U) << error.what();
    }
  }
  EXPECT_GT(accepted, 2000);
}

}  // namespace
}  // namespace latecomer
