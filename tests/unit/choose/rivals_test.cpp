// Trials of rivals, where prices prove wrong or do not count how ranks come.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "price/candidates.hpp"
#include "price/price.hpp"
#include "rules/rules.hpp"
#include "unit/choose/made_up_machine.hpp"

namespace latecomer {
namespace {

using namespace testing;

using Factors =
    std::map<std::string, double, std::less<>>;  // times the price that a row's call takes

/// The time of an algorithm's plan for the built-in network on this one; of the library, that of
/// the fastest one.
Seconds price(std::string_view row, const Problem& problem, const Network& network = {}) {
  const std::string_view name = row == "native" ? "fastest" : row;
  return balanced_time(make_plan(find_algorithm(problem.collective, name), problem, {}, {}),
                       network);
}

/// The balanced programs that may be chosen without arrivals, the one with the least price first.
std::vector<std::string> balanced_rows(const Problem& problem) {
  const Plan plan = fastest_plan(problem);
  std::vector<std::string> rows{plan.algorithm};
  for (const Rival& rival : rivals(plan, {})) {
    if (rival.choice.parameters.empty()) rows.push_back(rival.name);
  }
  return rows;
}

/// The row of most of the last 50 calls.
std::string_view last_choice(const Played& played) {
  const std::size_t from = played.rows.size() - 50;
  return *std::ranges::max_element(played.rows.begin() + static_cast<std::ptrdiff_t>(from),
                                   played.rows.end(), {},
                                   [&](auto row) { return played.count(row, from); });
}

/// `others`: the factor of rows that are not listed.
Machine machine_of(const Factors& factors, double others = 10) {
  return [&factors, others](std::string_view row) {
    const auto found = factors.find(row);
    return found == factors.end() ? others : found->second;
  };
}

/// Links are five times slower than assumed, and two ranks that send each other long messages
/// disturb each other. The price of the ring is hardly higher than the least, and it disturbs
/// nobody.
TEST(Chooser, TriesOthersWhereThePriceProvesWrong) {
  for (const Rank ranks : {4, 8, 16}) {
    SCOPED_TRACE(ranks);
    const Problem problem{Collective::allreduce, ranks, 1 << 18, 4};
    Network network;
    network.beta *= 5;
    network.exchange = 1.6;
    Factors factors;
    Seconds best = 1e9;
    for (const std::string& row : balanced_rows(problem)) {
      factors[row] = price(row, problem, network) / price(row, problem);
      best = std::min(best, price(row, problem, network));
    }
    factors["native"] = 1.2 * factors.at(fastest_plan(problem).algorithm);
    World world(ranks);
    play(world, 30, {}, machine_of(factors), problem);
    world.moving = 0;
    const Played played = play(world, 60, {}, machine_of(factors), problem);
    EXPECT_LE(world.moving / 60, 1.05 * best) << last_choice(played);
  }
}

/// Programs take up to kDoubt times as long as their prices have it against each other.
TEST(ChooserSeries, EndsOnTheBestRowWhateverThePricesSay) {
  constexpr int kCalls = 1000;
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto ranks = static_cast<Rank>(3 + random.next() % 30);
    const Problem problem{Collective::allreduce, ranks, Count{1} << (16 + random.next() % 6), 4};
    const double scale = random.next() % 2 == 0 ? 1.4 + 5 * random.uniform() : 0.2;
    Factors factors;
    for (const std::string& row : balanced_rows(problem)) {
      factors[row] = scale * (1 + (kDoubt - 1) * random.uniform());
    }
    factors["native"] = scale * (0.8 + random.uniform());
    Seconds best = 1e9;
    for (const auto& [row, factor] : factors) best = std::min(best, price(row, problem) * factor);
    World world(ranks);
    const Machine machine = machine_of(factors, scale * kDoubt);  // others are never the best
    const Played played = play(world, kCalls, {}, machine, problem);
    const std::string_view last = last_choice(played);
    EXPECT_LE(price(last, problem) * machine(last), best / 0.95 * 1.001) << last;
    EXPECT_LE(world.moving, 1.15 * kCalls * best);
    sum += world.moving / (kCalls * best);
  }
  EXPECT_LE(sum, 1.04 * 60);
}

/// The program goes on when the rank that came last has left, however early the others leave.
TEST(Chooser, JudgesByTheExitOfTheRankThatCameLast) {
  const std::vector<Seconds> arrivals = one_late(price("fastest", kProblem));
  const Factors factors{{"native", 2}, {fastest_plan(kProblem).algorithm, 1}, {"ring", 1.3}};
  const Machine machine = machine_of(factors, 3);
  World world;
  world.ahead = [](auto row) { return row == "ring" ? 0.8 : 0; };
  Played played;
  for (int i = 0; i < 400; ++i) played.rows.push_back(world.call(kProblem, machine, {}, arrivals));
  EXPECT_EQ(last_choice(played), fastest_plan(kProblem).algorithm);
}

/// The rank that comes last leaves all programs earlier than the library's collective. The others
/// leave `others` times the price later.
std::string_view choice_if_others_leave_later(double others) {
  const std::vector<Seconds> arrivals = one_late(price("fastest", kProblem));
  const Factors factors{{"native", 1}};
  const Machine machine = machine_of(factors, 0.7);
  World world;
  world.ahead = [&](auto row) { return row == "native" ? 0 : -others; };
  Played played;
  for (int i = 0; i < 400; ++i) played.rows.push_back(world.call(kProblem, machine, {}, arrivals));
  return last_choice(played);
}

TEST(ChooserSeries, KeepsTheLibraryWhereOtherRanksWouldLeaveLater) {
  EXPECT_NE(choice_if_others_leave_later(0), "native");
  EXPECT_NE(choice_if_others_leave_later(0.3), "native");
  EXPECT_EQ(choice_if_others_leave_later(2), "native");
}

/// All prices are far too low, and those of plans for a late rank the most. These plans are used
/// before rivals are tried: a good rival would keep them from ever being seen.
TEST(Chooser, UsesPlansForLateRanksBeforeRivals) {
  const std::vector<Seconds> arrivals = one_late(price("fastest", kProblem));
  const Factors factors{{"native", 8},
                        {fastest_plan(kProblem).algorithm, 5.7},
                        {"ring", 4.5},
                        {"segmented_ring", 4.5}};
  const Machine machine = machine_of(factors, 2);
  World world;
  Played played;
  for (int i = 0; i < 100; ++i)
    played.rows.push_back(world.call(kProblem, machine, arrivals, arrivals));
  const Algorithm& last = find_algorithm(Collective::allreduce, last_choice(played));
  EXPECT_TRUE(last.arrival_aware) << last.name;
}

/// Where ranks share nodes the programs among the nodes are tried.
TEST(ChooserSeries, TriesOtherProgramsAmongNodes) {
  World world;
  world.chooser.place(consecutive_placement(16, 4));
  const Factors factors{{"native", 3.6}, {"generalized", 2}};
  const Machine machine = machine_of(factors, 3.3);
  Played played;
  for (int i = 0; i < 400; ++i) played.rows.push_back(world.call(kProblem, machine));
  EXPECT_EQ(last_choice(played), "generalized");
}

/// Where the memory of nodes cannot be had, the program among the nodes serves all ranks.
TEST(Chooser, KeepsTheProgramWithoutMemoryOfNodes) {
  World world;
  world.chooser.place(consecutive_placement(16, 4));
  const Factors factors{{"native", 3.6}, {"generalized", 2}};
  const Machine machine = machine_of(factors, 3.3);
  while (world.call(kProblem, machine) != "generalized") ASSERT_LT(world.time, 1000);
  const Decision without = world.chooser.without_nodes(world.last, kProblem);
  ASSERT_NE(without.plan, nullptr);
  EXPECT_TRUE(without.plan->placement.empty());
  EXPECT_EQ(without.plan->inner.front().algorithm, "generalized");
}

/// A row that a rule chooses may have the name of a program among nodes: its durations are others.
TEST(ChooserSeries, LearnsNothingOfRivalsFromCallsByRule) {
  World world;
  world.chooser.place(consecutive_placement(16, 4));
  world.chooser.policy().rules = std::make_shared<const UserRules>(read_rules(
      R"({"rule_file_version": 1, "module": "latecomer", "collectives": {"allreduce": [{"rules": [
          {"imbalance_min": 1, "alg": "generalized"}, {"alg": "auto"}]}]}})",
      "rules"));
  const Factors factors{{"native", 3.6}, {"generalized", 2}};
  const auto believed = [&] {
    Belief& belief = world.chooser.class_of(kProblem).belief;
    return belief.log_cost({belief.index_of("generalized", Belief::kProgram), 0, {}});
  };
  play(world, 400, {}, machine_of(factors, 3.3));
  const double before = believed();
  ASSERT_TRUE(world.chooser.class_of(kProblem).belief.knows("generalized"));
  const Played late = play(world, 20, one_late(1), [](auto) { return 9; });
  EXPECT_EQ(late.count("generalized"), 20);
  EXPECT_EQ(believed(), before);
}

/// Other plans have other durations.
TEST(Chooser, LearnsAnewWhereThePlacementChanges) {
  World world;
  world.chooser.place(consecutive_placement(16, 4));
  play(world, 100, {}, [](auto row) { return row == "native" ? 4 : 3; });
  EXPECT_FALSE(world.chooser.class_of(kProblem).rivals.empty());
  world.chooser.place({});
  EXPECT_TRUE(world.chooser.class_of(kProblem).rivals.empty());
  EXPECT_FALSE(world.chooser.class_of(kProblem).belief.knows("native"));
  EXPECT_NE(world.call(kProblem, same), "nodes");
}

/// Where the library is the best, trials of others lose little.
TEST(ChooserSeries, TrialsLoseLittle) {
  constexpr int kCalls = 1000;
  Factors factors;
  for (const std::string& row : balanced_rows(kProblem)) factors[row] = 3.6;
  factors["native"] = 3;
  factors["online_owners"] = 3.6;
  World world;
  const Played played = play(world, kCalls, {}, machine_of(factors));
  const Seconds best = 3 * price("native", kProblem);
  EXPECT_LE(world.moving, 1.04 * kCalls * best);
  int others = 0;
  for (const std::string& row : balanced_rows(kProblem)) others += played.count(row) > 0;
  EXPECT_GT(others, 1);
}

TEST(ChooserSeries, TrustsPricesThatProveRight) {
  World world;
  play(world, 1000, {}, same);
  EXPECT_LE(world.moving, 1.005 * 1000 * price("fastest", kProblem));
}

}  // namespace
}  // namespace latecomer
