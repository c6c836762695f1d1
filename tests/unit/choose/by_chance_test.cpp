// Decisions at random.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/plans.hpp"
#include "base/error.hpp"
#include "choose/chooser.hpp"
#include "rules/rules.hpp"

namespace latecomer {
namespace {

constexpr Rank kRanks = 4;
const Placement kPairs = {0, 0, 1, 1};

Problem problem_of(Collective collective, bool commutative = true) {
  Problem problem{.collective = collective, .ranks = kRanks, .count = 1000};
  problem.commutative = commutative;
  return problem;
}

std::string text_of(std::uint64_t seed) { return "auto:random=" + std::to_string(seed); }

Chooser drawing(std::uint64_t seed, const Placement& placement = {}, Rank rank = 0) {
  Chooser chooser(rank, kRanks);
  for (const Collective each : all_collectives())
    chooser.policy().choice(each) = parse_choice(each, text_of(seed));
  chooser.connected(1);
  if (!placement.empty()) chooser.place(placement);
  return chooser;
}

Decision decide(Chooser& chooser, const Problem& problem, bool announced = false) {
  if (!announced) return chooser.decide(problem);
  return chooser.decide_announced(problem, chooser.expect(problem));
}

/// The rows of so many calls.
std::set<std::string_view> rows_drawn(Chooser& chooser, const Problem& problem, int calls,
                                      bool announced = false) {
  std::set<std::string_view> rows;
  for (int call = 0; call < calls; ++call) {
    const Decision decision = decide(chooser, problem, announced);
    EXPECT_NE(decision.action, Decision::Action::refused) << decision.why;
    EXPECT_EQ(decision.plan == nullptr, is_native(*decision.row));
    rows.insert(decision.row->name);
  }
  return rows;
}

bool has_a_plan(const Algorithm& row, const Problem& problem, const Placement& placement) {
  Knowledge knowledge;
  knowledge.placement = placement;
  try {
    (void)make_plan(row, problem, {}, knowledge);
  } catch (const Error&) {
    return false;
  }
  return true;
}

TEST(DecisionsByChance, MeetEveryRowThatAccepts) {
  constexpr int kCalls = 600;
  for (const std::uint64_t seed : {1, 2}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const Collective collective : all_collectives()) {
      for (const Placement& placement : {Placement{}, kPairs}) {
        for (const bool commutative : {true, false}) {
          if (!commutative && !combines(collective)) continue;
          Chooser chooser = drawing(seed, placement);
          const Problem problem = problem_of(collective, commutative);
          std::set<std::string_view> able = {"native"};
          for (const Algorithm& row : registry(collective)) {
            if (row.name != "auto" && has_a_plan(row, problem, placement)) able.insert(row.name);
          }
          EXPECT_EQ(rows_drawn(chooser, problem, kCalls), able) << to_string(collective);
        }
      }
    }
  }
}

/// All ranks get the same bits, whatever is drawn: only a user may ask for `rounding=any`.
TEST(DecisionsByChance, GiveUpNoPromise) {
  constexpr std::uint64_t kSeed = 4;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Chooser chooser = drawing(kSeed, kPairs);
  int generalized = 0;
  for (int call = 0; call < 2000; ++call) {
    const Decision decision = chooser.decide(problem_of(Collective::allreduce));
    if (decision.plan == nullptr) continue;
    const std::string text = describe_parameters(*decision.plan);
    EXPECT_EQ(text.find("rounding=any"), std::string::npos) << decision.row->name << ' ' << text;
    generalized += static_cast<int>(text.find("rounding=same") != std::string::npos);
  }
  EXPECT_GT(generalized, 10);
}

TEST(DecisionsByChance, AreAlikeOnAllRanks) {
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::vector<Chooser> ranks;
  for (Rank rank = 0; rank < kRanks; ++rank) ranks.push_back(drawing(kSeed, kPairs, rank));
  std::set<std::string> texts;
  for (int call = 0; call < 200; ++call) {
    const Problem problem = problem_of(all_collectives()[call % kCollectives]);
    // Rank 0 alone draws for the calls that it announces.
    if (call % 3 == 0) (void)decide(ranks.front(), problem, true);
    const Decision first = decide(ranks.front(), problem);
    if (first.plan) texts.insert(in_words(*first.plan) + describe_parameters(*first.plan));
    for (Rank rank = 1; rank < kRanks; ++rank) {
      const Decision other = decide(ranks[static_cast<std::size_t>(rank)], problem);
      ASSERT_EQ(other.row, first.row);
      ASSERT_EQ(other.exchange_arrivals, first.exchange_arrivals);
      ASSERT_EQ(other.plan == nullptr, first.plan == nullptr);
      if (first.plan) {
        ASSERT_EQ(*other.plan, *first.plan);
      }
    }
  }
  EXPECT_GT(texts.size(), 60U);  // with parameters
}

TEST(DecisionsByChance, DifferFromSeedToSeed) {
  const Problem problem = problem_of(Collective::allreduce);
  std::set<std::vector<const Algorithm*>> series;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Chooser chooser = drawing(seed);
    std::vector<const Algorithm*> rows;
    for (int call = 0; call < 10; ++call) rows.push_back(decide(chooser, problem).row);
    series.insert(rows);
  }
  EXPECT_EQ(series.size(), 5U);
}

TEST(DecisionsByChance, AnnouncedCallsGetNothingThatWaitsForTheArrival) {
  for (const Collective collective : all_collectives()) {
    Chooser chooser = drawing(4);
    for (const std::string_view row : rows_drawn(chooser, problem_of(collective), 300, true))
      EXPECT_FALSE(waits_for_arrival(find_algorithm(collective, row))) << row;
  }
}

TEST(DecisionsByChance, SomeProblemsAreAnnouncedAlikeOnAllRanks) {
  Chooser chooser = drawing(5);
  const Chooser other = drawing(5, {}, 1);
  std::set<bool> found;
  for (Count count = 1; count < 20; ++count) {
    Problem problem = problem_of(Collective::allreduce);
    problem.count = count;
    const bool announced = chooser.may_run_ahead(problem);
    found.insert(announced);
    (void)decide(chooser, problem);
    EXPECT_EQ(chooser.may_run_ahead(problem), announced);
    EXPECT_EQ(other.may_run_ahead(problem), announced);
  }
  EXPECT_EQ(found.size(), 2U);
}

TEST(DecisionsByChance, KeepTheRowWhereNodesCannotShareMemory) {
  Chooser chooser = drawing(6, kPairs);
  const Problem problem = problem_of(Collective::allreduce);
  std::set<std::string_view> rows;
  for (int call = 0; call < 400; ++call) {
    const Decision decision = decide(chooser, problem);
    if (!decision.plan || decision.plan->placement.empty()) continue;
    const Decision other = chooser.without_nodes(decision, problem);
    EXPECT_EQ(other.row, decision.row);
    ASSERT_TRUE(other.plan) << other.why;
    EXPECT_TRUE(other.plan->placement.empty());
    rows.insert(decision.row->name);
  }
  EXPECT_TRUE(rows.contains("nodes"));
}

TEST(DecisionsByChance, LeaveNothingToPrices) {
  const Chooser chooser = drawing(7);
  const Problem problem = problem_of(Collective::allreduce);
  EXPECT_FALSE(chooser.chooses(problem));
  EXPECT_TRUE(chooser.draws(problem));
  Chooser automatic(0, kRanks);
  automatic.policy().choice(Collective::allreduce) = parse_choice(Collective::allreduce, "auto");
  EXPECT_FALSE(automatic.draws(problem));
}

TEST(DecisionsByChance, AreRefusedInReproducibleMode) {
  Chooser chooser = drawing(8);
  chooser.policy().reproducible = true;
  for (const Collective collective : all_collectives()) {
    const Decision decision = decide(chooser, problem_of(collective));
    EXPECT_EQ(decision.action, Decision::Action::refused);
    EXPECT_EQ(decision.why,
              "algorithm in reproducible mode: 'auto:random=8' is not usable; right would be one "
              "that is the same in every call");
  }
}

TEST(DecisionsByChance, ARuleMayAskForThem) {
  Chooser chooser(0, kRanks);
  const Problem problem = problem_of(Collective::allreduce);
  chooser.policy().choice(problem.collective) = parse_choice(problem.collective, "auto");
  chooser.policy().rules = std::make_shared<const UserRules>(
      read_rules(R"({"rule_file_version": 1, "module": "latecomer", "collectives": {"allreduce": [
                    {"rules": [{"alg": "auto:random=9"}]}]}})",
                 "rules"));
  EXPECT_TRUE(chooser.draws(problem));
  EXPECT_FALSE(chooser.chooses(problem));
  EXPECT_GT(rows_drawn(chooser, problem, 30).size(), 5U);
  EXPECT_EQ(chooser.likely_plan(problem), nullptr);
}

TEST(DecisionsByChance, NoPlanIsMadeForAllCalls) {
  const Choice choice = parse_choice(Collective::bcast, "auto:random=7");
  try {
    (void)make_plan(*choice.algorithm, problem_of(Collective::bcast), choice.parameters, {});
    FAIL() << "a plan was made";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "algorithm: 'auto:random=7' is not usable; right would be one that has a plan of its "
              "own: at random, each call gets another algorithm");
  }
}

TEST(DecisionsByChance, SeedsAreWholeNumbersFromOne) {
  for (const char* const seed : {"0", "-1", "x", "1.5", ""}) {
    try {
      (void)parse_choice(Collective::reduce, std::string("auto:random=") + seed);
      FAIL() << seed;
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_NE(said.find("random: '" + std::string(seed) + "' is not usable"), std::string::npos)
          << said;
      EXPECT_NE(said.find("from 1"), std::string::npos) << said;
    }
  }
  EXPECT_EQ(seed_of(parse_choice(Collective::reduce, "auto:random=7")), 7);
  EXPECT_EQ(seed_of(parse_choice(Collective::reduce, "auto")), 0);
}

}  // namespace
}  // namespace latecomer
