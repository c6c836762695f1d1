// The candidates of a call and their prices.
#include "choose/pricer.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "price/candidates.hpp"
#include "price/price.hpp"

namespace latecomer {
namespace {

/// The candidates of an announced call, in which protocols do not compete.
std::vector<Candidate> announced(Collective collective, const std::vector<Seconds>& arrivals,
                                 Seconds budget) {
  CallClass call_class;
  call_class.budget = budget;
  Pricer pricer;
  pricer.know({}, {}, false, true, true);
  return pricer.candidates(call_class, {collective, 16, 1 << 20, 4}, arrivals);
}

std::vector<Seconds> ninth_late() {
  std::vector<Seconds> arrivals(16, 0);
  arrivals[8] = 20e-3;
  return arrivals;
}

TEST(Pricer, TakesArrivalsIntoAccountWhereThatNeedsNoReplay) {
  const std::vector<Seconds> arrivals = ninth_late();
  const Candidate balanced = announced(Collective::bcast, arrivals, 1).at(1);
  EXPECT_EQ(balanced.plan->algorithm, "linear");
  const Seconds after_last = mean_after_last(*balanced.plan, {}, arrivals);
  EXPECT_LT(after_last, 0.8 * balanced_time(*balanced.plan, {}));
  EXPECT_DOUBLE_EQ(balanced.predicted, after_last + waiting(arrivals));
}

TEST(Pricer, PricesOtherBalancedProgramsAsIfNoRankWereLate) {
  const Candidate balanced = announced(Collective::allreduce, ninth_late(), 1).at(1);
  EXPECT_EQ(balanced.plan->algorithm, "generalized");
  EXPECT_DOUBLE_EQ(balanced.predicted, balanced_time(*balanced.plan, {}));
}

/// On four nodes of four ranks, where the placement may be used or not.
std::vector<Candidate> on_nodes(bool usable) {
  CallClass call_class;
  call_class.budget = 10;
  Pricer pricer;
  EXPECT_TRUE(pricer.place(consecutive_placement(16, 4)));
  pricer.know({}, {}, false, true, usable);
  return pricer.candidates(call_class, {Collective::allreduce, 16, 1 << 18, 4}, ninth_late());
}

TEST(Pricer, HasTheLibraryAndPlansOnNodesWhereRanksShareThem) {
  const std::vector<Candidate> all = on_nodes(true);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[1].row, &fastest_row(Collective::allreduce));
  EXPECT_EQ(all[1].plan->algorithm, "nodes");
  EXPECT_EQ(all[2].row->name, "online_nodes");
  EXPECT_EQ(all[3].row->name, "nodes");
  EXPECT_EQ(all[3].plan->placement, consecutive_placement(16, 4));
  EXPECT_LT(all[3].predicted, all[1].predicted);  // the ninth is late
}

TEST(Pricer, HasNoPlansOnNodesWhereThePlacementMayNotBeUsed) {
  const std::vector<Candidate> without = announced(Collective::allreduce, ninth_late(), 10);
  for (const Candidate& each : on_nodes(false)) {
    EXPECT_NE(each.row->name, "nodes");
    EXPECT_TRUE(each.plan == nullptr || each.plan->placement.empty());
  }
  for (const Candidate& each : without) EXPECT_NE(each.row->name, "nodes");
}

const Plan& plan_of(std::string_view row, const std::vector<Candidate>& all) {
  const auto found = std::ranges::find(all, row, [](const Candidate& each) { return each.name(); });
  if (found == all.end()) throw Error("row", std::string(row), "one of the candidates");
  return *found->plan;
}

/// What all wait for is done by the first rank that does not mostly come late.
TEST(Pricer, GivesTasksToRanksThatAreMostlyThere) {
  CallClass call_class;
  call_class.budget = 10;
  Pricer pricer;
  const auto coordinator = [&](const std::vector<bool>& mostly_late) {
    pricer.know({}, &mostly_late, false, false, true);
    const Problem problem{Collective::allreduce, 4, 1 << 18, 4};
    const auto all = pricer.candidates(call_class, problem, {});
    return plan_of("online_owners", all).parameters.at("coordinator");
  };
  EXPECT_EQ(coordinator({}), 0);
  EXPECT_EQ(coordinator({false, false, true, true}), 0);
  EXPECT_EQ(coordinator({true, false, false, false}), 1);
  EXPECT_EQ(coordinator({true, true, false, false}), 2);
  EXPECT_EQ(coordinator({true, true, true, true}), 0);
  EXPECT_EQ(coordinator({}), 0);
}

/// Also if plans were priced for late ranks, and these have not changed.
TEST(Pricer, GivesTasksToOthersWhilePricesStay) {
  CallClass call_class;
  call_class.budget = 100;
  Pricer pricer;
  const Problem problem{Collective::allreduce, 16, 1 << 20, 4};
  const auto coordinator = [&](const std::vector<bool>& mostly_late) {
    pricer.know({}, &mostly_late, false, false, true);
    const auto all = pricer.candidates(call_class, problem, ninth_late());
    (void)plan_of("early_owners", all);
    return plan_of("online_owners", all).parameters.at("coordinator");
  };
  EXPECT_EQ(coordinator({}), 0);
  std::vector<bool> first(16);
  first[0] = true;
  EXPECT_EQ(coordinator(first), 1);
}

TEST(Pricer, GivesTheTasksOfEachNodeToARankThatIsMostlyThere) {
  CallClass call_class;
  call_class.budget = 10;
  Pricer pricer;
  EXPECT_TRUE(pricer.place(consecutive_placement(8, 2)));
  const auto plan = [&](const std::vector<bool>& mostly_late) {
    pricer.know({}, &mostly_late, false, false, true);
    const Problem problem{Collective::allreduce, 8, 1 << 18, 4};
    return plan_of("online_nodes", pricer.candidates(call_class, problem, {}));
  };
  using Ranks = std::vector<Count>;
  EXPECT_EQ(plan({}).table, (Ranks{0, 2, 4, 6}));
  EXPECT_EQ(plan({false, false, false, false, true, false, false, false}).table,
            (Ranks{0, 2, 5, 6}));
  const Plan last = plan({true, true, false, false, false, false, false, false});
  EXPECT_EQ(last.table, (Ranks{0, 2, 4, 6}));
  EXPECT_EQ(last.parameters.at("coordinator"), 1);
}

std::vector<std::string_view> names(const std::vector<Candidate>& candidates) {
  std::vector<std::string_view> all;
  for (const Candidate& each : candidates) all.push_back(each.row->name);
  return all;
}

/// The prices of four ranks' programs are alike; those come first that are best where exchanges are
/// slow.
TEST(Pricer, HasRivalsOnceThePriceIsDoubted) {
  using Names = std::vector<std::string_view>;
  CallClass call_class;
  call_class.budget = 1;
  Pricer pricer;
  const Problem problem{Collective::allreduce, 4, 1 << 18, 4};
  pricer.know({.handshake = 100e-6}, {}, false, true, true);
  EXPECT_EQ(names(pricer.candidates(call_class, problem, {})),
            (Names{"native", "fastest", "online_owners"}));
  const Names with_rivals{"native",    "fastest",      "generalized",  "segmented_ring",
                          "circulant", "rabenseifner", "online_owners"};
  const std::vector<Candidate> doubted = pricer.candidates(call_class, problem, {}, true);
  EXPECT_EQ(names(doubted), with_rivals);
  for (std::size_t i = 2; i < 6; ++i) {
    EXPECT_LE(doubted[i].predicted, kDoubt * doubted[1].predicted);
  }
  // They stay, whether prices are still doubted or not, and nothing is planned again.
  const auto plans = pricer.plans().plans_made();
  EXPECT_EQ(names(pricer.candidates(call_class, problem, {})), with_rivals);
  EXPECT_EQ(pricer.plans().plans_made(), plans);
}

/// What rooted ones cost depends more on who waits for whom.
TEST(Pricer, HasAllProgramsAsRivalsInRootedCollectives) {
  for (const Collective collective : {Collective::reduce, Collective::bcast}) {
    CallClass call_class;
    call_class.budget = 1;
    Pricer pricer;
    pricer.know({}, {}, false, true, true);
    const auto all = pricer.candidates(call_class, {collective, 16, 1 << 18, 4}, {}, true);
    EXPECT_GE(call_class.rivals.size(), 3U);
    EXPECT_GT(std::ranges::max(all, {}, &Candidate::predicted).predicted, 3 * all.at(1).predicted);
  }
}

TEST(Pricer, HasNoRivalsWhereTheBudgetIsEmpty) {
  CallClass poor;
  Pricer pricer;
  pricer.know({}, {}, false, true, true);
  EXPECT_EQ(pricer.candidates(poor, {Collective::allreduce, 16, 1 << 18, 4}, {}, true).size(), 1U);
  EXPECT_FALSE(poor.knows_rivals);
}

TEST(Pricer, HasTheLibraryAloneWhereTheBudgetIsEmpty) {
  const std::vector<Candidate> all = announced(Collective::allreduce, ninth_late(), 0);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().row, &native_row(Collective::allreduce));
  EXPECT_EQ(all.front().plan, nullptr);
}

}  // namespace
}  // namespace latecomer
