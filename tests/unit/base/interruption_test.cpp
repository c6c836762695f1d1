#include <gtest/gtest.h>

#include <stdexcept>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/reproducible.hpp"
#include "base/threads.hpp"
#include "price/price.hpp"
#include "reference/rows.hpp"
#include "simulate/simulate.hpp"
#include "verify/verify.hpp"

namespace latecomer {
namespace {

struct Enough {};

/// Ends the work at the first interruption point, then lets it through; how many there were.
template <typename Work>
int points(Work work) {
  {
    const Interruptible ends([] { throw Enough(); });
    EXPECT_THROW(work(), Enough);
  }
  int met = 0;
  const Interruptible counts([&met] { ++met; });
  work();
  return met;
}

std::vector<Seconds> random_arrivals(Rank ranks) {
  Random random(1);
  std::vector<Seconds> arrivals;
  for (Rank rank = 0; rank < ranks; ++rank) arrivals.push_back(5e-3 * random.uniform());
  return arrivals;
}

class EveryRow : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(EveryRow, CanBeInterrupted) {
  const Algorithm& row = *GetParam();
  const Problem problem{row.collective, 24, 1 << 16};
  const Network network;
  const std::vector<Seconds> arrivals = random_arrivals(problem.ranks);
  const Plan plan = make_plan(row, problem, {}, {arrivals, network});
  const Executors executors = make_executors(plan, network);
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  EXPECT_GE(points([&] { (void)simulate(executors, options); }), problem.ranks);
  if (row.kind != Kind::program) return;
  const std::vector<Program> programs = build_programs(plan);
  EXPECT_GE(points([&] { (void)build_programs(plan); }), problem.ranks);
  EXPECT_GE(points([&] { (void)verify(problem, programs); }), problem.ranks);
  const Schedule schedule{plan, programs};
  EXPECT_GE(points([&] { (void)parse_schedule(to_text(schedule)); }), problem.ranks);
}

INSTANTIATE_TEST_SUITE_P(Interruption, EveryRow, ::testing::ValuesIn(testing::planned_rows()),
                         testing::name_of_row);

TEST(Interruption, EndsPricing) {
  constexpr std::pair<Collective, std::string_view> kWalked[] = {
      {Collective::allgather, "late_doubling"},      {Collective::allgather, "sorted_gather_bcast"},
      {Collective::allreduce, "early_owners"},       {Collective::allreduce, "prereduced_ring"},
      {Collective::allreduce, "straggler_exchange"}, {Collective::reduce, "local_redirect"}};
  for (const auto& [collective, name] : kWalked) {
    const Algorithm& row = find_algorithm(collective, name);
    const Problem problem{collective, 32, 1 << 20};
    const std::vector<Seconds> arrivals = random_arrivals(problem.ranks);
    const int met = points([&] {
      const Plan plan = make_plan(row, problem, {}, {arrivals, {}});
      (void)mean_after_last(plan, {}, arrivals);
    });
    EXPECT_GE(met, problem.ranks) << name;
  }
}

TEST(Interruption, IsOfTheInnermostCheckAndEndsWithIt) {
  int outer = 0;
  int inner = 0;
  const Interruptible counts([&outer] { ++outer; });
  {
    const Interruptible within([&inner] { ++inner; });
    interruption_point();
  }
  interruption_point();
  EXPECT_EQ(outer, 1);
  EXPECT_EQ(inner, 1);
}

}  // namespace
}  // namespace latecomer
