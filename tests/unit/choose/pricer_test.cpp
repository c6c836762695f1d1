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

TEST(Pricer, HasTheLibraryAloneWhereTheBudgetIsEmpty) {
  const std::vector<Candidate> all = announced(Collective::allreduce, ninth_late(), 0);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().row, &native_row(Collective::allreduce));
  EXPECT_EQ(all.front().plan, nullptr);
}

}  // namespace
}  // namespace latecomer
