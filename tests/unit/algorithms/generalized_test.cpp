// The generalised all-reduce: its special cases, the papers' numbers, and its promises.
#include <gtest/gtest.h>

#include "algorithms/allreduce/generalized/designs.hpp"
#include "algorithms/allreduce/generalized/levels.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"
#include "verify/verify.hpp"

namespace latecomer::allreduce {
namespace {

Plan plan_of(const std::string& text, Rank ranks, Count count, const Network& network = {},
             bool exact = false) {
  const Choice choice = parse_choice(Collective::allreduce, text);
  Problem problem{Collective::allreduce, ranks, count};
  problem.exact = exact;
  return make_plan(*choice.algorithm, problem, choice.parameters, {{}, network});
}

struct Message {
  Rank peer;
  Count count;
  bool operator==(const Message&) const = default;
};

std::vector<Message> sends(const Plan& plan, Rank me) {
  std::vector<Message> all;
  for (const Operation& op : build_program(plan, me).operations) {
    if (op.kind == OpKind::send) all.push_back({op.peer, op.source.count});
  }
  return all;
}

std::vector<Count> moved(const std::vector<Step>& steps) {
  std::vector<Count> all;
  for (const Step& step : steps) all.push_back(step.moved());
  return all;
}

/// Elements, by the rank that combines most.
Count most_combined(const Plan& plan) {
  Count most = 0;
  for (const Program& program : build_programs(plan)) {
    Count mine = 0;
    for (const Operation& op : program.operations) {
      if (op.kind == OpKind::combine) mine += op.source.count;
    }
    most = std::max(most, mine);
  }
  return most;
}

TEST(Generalized, SevenRanksMoveThreeTwoOnePartsAndBack) {
  const Plan plan = plan_of("generalized:group=cyclic:steps=6", 7, 7);
  const Design design = from_table(plan.table, 7);
  EXPECT_EQ(moved(reduce_steps(design.levels[0])), (std::vector<Count>{3, 2, 1}));
  EXPECT_EQ(moved(distribute_steps(design.levels[0])), (std::vector<Count>{1, 2, 3}));
  EXPECT_EQ(level_cost(plan).sent, 12);
  EXPECT_EQ(most_combined(plan), 6);
}

/// One part at a time to the next rank is the ring; the results come back the other way round.
TEST(Generalized, MostStepsAreTheRing) {
  for (const Rank ranks : {2, 3, 7, 8, 12}) {
    const Count count = Count{ranks} * 5;
    const Plan ours = plan_of("generalized:group=cyclic:steps=9999", ranks, count);
    const Plan ring = plan_of("ring", ranks, count);
    for (Rank me = 0; me < ranks; ++me) {
      const auto all = sends(ours, me);
      const auto expected = sends(ring, me);
      ASSERT_EQ(all.size(), expected.size());
      const auto half = static_cast<std::ptrdiff_t>(all.size() / 2);
      EXPECT_TRUE(std::equal(all.begin(), all.begin() + half, expected.begin()));
      for (auto at = all.begin() + half; at != all.end(); ++at) {
        EXPECT_EQ(*at, (Message{(me + ranks - 1) % ranks, 5}));
      }
    }
  }
}

TEST(Generalized, PairsOfAPowerOfTwoAreHalvingOrDoubling) {
  for (const Rank ranks : {2, 4, 8, 16}) {
    const Count count = Count{ranks} * 3;
    const auto steps = std::to_string(2 * fewest_steps(ranks, 1));
    const Plan halving = plan_of("generalized:group=prime:piece=0:steps=" + steps, ranks, count);
    const Plan doubling = plan_of("generalized:group=prime:piece=0:steps=1", ranks, count);
    for (Rank me = 0; me < ranks; ++me) {
      EXPECT_EQ(sends(halving, me), sends(plan_of("rabenseifner", ranks, count), me));
      EXPECT_EQ(sends(doubling, me), sends(plan_of("recursive_doubling", ranks, count), me));
    }
  }
}

/// Units of a P-th of the vector for 12 to 6 steps of the cyclic group of 48, each with N_(L-r)
/// kept results; with 2^r of them 10 to 7 steps would send 110, 131, 173 and 250.
TEST(Generalized, KeepsNoMoreResultsThanItNeeds) {
  const std::vector<std::pair<Count, Count>> expected = {
      {94, 47}, {99, 53}, {104, 59}, {119, 77}, {149, 113}, {209, 185}, {288, 288}};
  for (std::size_t removed = 0; removed < expected.size(); ++removed) {
    const auto steps = std::to_string(12 - removed);
    const Plan plan =
        plan_of("generalized:group=cyclic:piece=0:rounding=any:steps=" + steps, 48, 48);
    EXPECT_EQ(level_cost(plan).sent, expected[removed].first) << steps;
    EXPECT_EQ(most_combined(plan), expected[removed].second) << steps;
  }
}

/// 48 = 3 * 2^4: doubling among the last r pairs removes r steps without other trees.
TEST(Generalized, DoublesWhereTwoDividesTheRanks) {
  const std::vector<Count> expected = {94, 94, 96, 104, 128};
  for (std::size_t removed = 0; removed < expected.size(); ++removed) {
    const Plan plan = plan_of("generalized:piece=0:steps=" + std::to_string(12 - removed), 48, 48);
    EXPECT_EQ(level_cost(plan).sent, expected[removed]) << removed;
    EXPECT_EQ(plan.parameters.at("steps"), static_cast<Count>(12 - removed));
  }
}

/// However small a piece is asked for, programs stay short.
TEST(Generalized, HasALeastPiece) {
  constexpr Count kLong = Count{1} << 28;
  const Plan plan = plan_of("generalized:piece=1", 8, kLong);
  EXPECT_EQ(plan.parameters.at("piece"), kLong >> 16);
  EXPECT_EQ(plan_of("generalized:piece=1", 8, 64).parameters.at("piece"), 1);
  EXPECT_EQ(plan_of("generalized:piece=0", 8, kLong).parameters.at("piece"), 0);
  const Network eager{.alpha = 1e-7, .beta = 1e-9, .gamma = 1e-9, .eager_limit = 16};
  for (const Count count : {Count{100}, kLong}) {
    EXPECT_NO_THROW(check_plan(plan_of("generalized", 8, count, eager))) << count;
  }
  Plan other = plan;
  other.table[1] = 1;
  EXPECT_THROW(check_plan(other), Error);
}

TEST(Generalized, TakesTheNearestNumberOfSteps) {
  EXPECT_EQ(plan_of("generalized:steps=1", 48, 48).parameters.at("steps"), 8);
  EXPECT_EQ(plan_of("generalized:steps=1:rounding=any", 48, 48).parameters.at("steps"), 6);
  EXPECT_EQ(plan_of("generalized:steps=1", 7, 7).parameters.at("steps"), 6);
  EXPECT_EQ(plan_of("generalized:steps=9999", 7, 7).parameters.at("steps"), 12);
  EXPECT_EQ(plan_of("generalized:steps=9", 7, 7).parameters.at("steps"), 9);
}

/// Short vectors take few steps, long ones as many as leave nothing replicated.
TEST(Generalized, TheNetworkChooses) {
  const Network network{.alpha = 50e-6, .beta = 8e-9, .gamma = 0.1e-9};
  EXPECT_EQ(plan_of("generalized", 127, 2, network, true).parameters.at("steps"), 7);
  EXPECT_EQ(plan_of("generalized", 127, 1 << 22, network, true).parameters.at("steps"), 14);
  const Count middle = plan_of("generalized", 127, 4096, network, true).parameters.at("steps");
  EXPECT_GT(middle, 7);
  EXPECT_LT(middle, 14);
  const Network slow_start{.alpha = 1, .beta = 8e-9, .gamma = 0.1e-9};
  EXPECT_EQ(plan_of("generalized", 127, 1 << 22, slow_start, true).parameters.at("steps"), 7);
}

std::string rule_broken_by(Plan plan) {
  plan.problem.exact = false;  // hold it to all promises
  const auto found = verify(plan.problem, build_programs(plan));
  return found ? std::string(found->rule) : "";
}

TEST(Generalized, OnlyAskedForRoundsDifferently) {
  EXPECT_EQ(rule_broken_by(plan_of("generalized:rounding=any:steps=1", 5, 8)), "same-tree");
  EXPECT_EQ(rule_broken_by(plan_of("generalized:steps=1", 5, 8)), "");
  EXPECT_EQ(rule_broken_by(plan_of("generalized:steps=1", 12, 30)), "");
  const Plan exact = plan_of("generalized:steps=1", 5, 8, {}, true);
  EXPECT_EQ(describe_parameters(exact), "group=5 piece=0 rounding=any steps=3");
  EXPECT_EQ(rule_broken_by(exact), "same-tree");
}

/// In every group, with every number of steps and in pieces, unless told otherwise.
TEST(Generalized, GivesTheSameBitsEverywhere) {
  for (const Rank ranks : {2, 3, 4, 6, 8, 12, 16}) {
    for (const std::string group : {"best", "cyclic", "prime"}) {
      for (Rank steps = 1; steps <= 2 * ranks; ++steps) {
        for (const int piece : {0, 1, 3}) {
          const std::string text = "generalized:group=" + group +
                                   ":steps=" + std::to_string(steps) +
                                   ":piece=" + std::to_string(piece);
          const Plan plan = plan_of(text, ranks, ranks + 5);
          ASSERT_EQ(rule_broken_by(plan), "") << to_text(plan);
        }
      }
    }
  }
}

/// Four ranks that keep two results each combine them in slices that begin elsewhere.
TEST(Generalized, KeepsAllResultsOrOne) {
  EXPECT_EQ(plan_of("generalized:group=cyclic:steps=3", 4, 8).parameters.at("steps"), 2);
  EXPECT_EQ(plan_of("generalized:steps=3", 4, 8).parameters.at("steps"), 3);
  EXPECT_EQ(plan_of("generalized:group=cyclic:steps=3:rounding=any", 4, 8).parameters.at("steps"),
            3);
}

std::string error_of(const std::string& text, Rank ranks) {
  try {
    (void)plan_of(text, ranks, 8);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Generalized, GroupsAreNamesOrFactors) {
  EXPECT_EQ(describe_parameters(plan_of("generalized:group=3x2x2:piece=0", 12, 12)),
            "group=3x2x2 piece=0 rounding=same steps=6");
  EXPECT_EQ(describe_parameters(plan_of("generalized:group=prime:piece=0", 12, 1 << 20)),
            "group=3x2x2 piece=0 rounding=same steps=7");
  EXPECT_NE(error_of("generalized:group=3x2", 12).find("factors whose product is the 12 ranks"),
            std::string::npos);
  EXPECT_NE(error_of("generalized:group=best3", 12).find("or factors such as 12x2x2"),
            std::string::npos);
  EXPECT_NE(error_of("generalized:group=12x1", 12).find("each from 2 up"), std::string::npos);
}

TEST(Generalized, TablesThatAreNoDesignAreRefused) {
  const Plan good = plan_of("generalized", 6, 6);
  EXPECT_EQ(to_table(from_table(good.table, 6)), good.table);
  for (const std::vector<Count>& table : {std::vector<Count>{},
                                          {0, 0, 0, 6, 1, 3},
                                          {2, 0, 0, 6, 1, 3, 3},
                                          {0, 0, 0, 6, 1, 2, 3},
                                          {0, 0, 0, 6, 7, 3, 3},
                                          {0, 0, 0, 3, 1, 2, 2},
                                          {1, 0, 0, 6, 2, 3, 2}}) {
    EXPECT_THROW((void)from_table(table, 6), Error);
  }
}

}  // namespace
}  // namespace latecomer::allreduce
