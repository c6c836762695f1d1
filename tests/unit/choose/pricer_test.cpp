// The candidates of a call and their prices.
#include "choose/pricer.hpp"

#include <gtest/gtest.h>

#include "price/price.hpp"

namespace latecomer {
namespace {

/// The candidates of an announced call, in which protocols do not compete.
std::vector<Candidate> announced(Collective collective, const std::vector<Seconds>& arrivals,
                                 Seconds budget) {
  CallClass call_class;
  call_class.budget = budget;
  Pricer pricer;
  pricer.know({}, false, true, true);
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
  pricer.know({}, false, true, usable);
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

TEST(Pricer, HasTheLibraryAloneWhereTheBudgetIsEmpty) {
  const std::vector<Candidate> all = announced(Collective::allreduce, ninth_late(), 0);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().row, &native_row(Collective::allreduce));
  EXPECT_EQ(all.front().plan, nullptr);
}

}  // namespace
}  // namespace latecomer
