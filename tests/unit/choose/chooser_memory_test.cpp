// Plans and classes that the choice keeps, equal decisions, and calls that rank 0 announces.
#include <gtest/gtest.h>

#include <string>

#include "base/reproducible.hpp"
#include "choose/chooser.hpp"
#include "unit/choose/made_up_machine.hpp"

namespace latecomer {
namespace {

using namespace testing;

TEST(Chooser, FindsPlansAgainWhateverTheirNumber) {
  World world;
  std::vector<Problem> problems;
  for (Count i = 0; i < 40; ++i) problems.push_back({Collective::allreduce, 16, (1 << 20) + i, 4});
  const auto machine = [](auto row) { return row == "native" ? 2 : 1; };
  for (int round = 0; round < 4; ++round) {
    for (const Problem& problem : problems) world.call(problem, machine);
  }
  const auto made = world.chooser.plans().plans_made();
  for (const Problem& problem : problems) world.call(problem, machine);
  EXPECT_EQ(world.chooser.plans().plans_made(), made);
}

TEST(Chooser, HoldsPlansUpToALimit) {
  PlanCache plans;
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  for (Count count = 1; count < 2000; ++count) {
    plans.get({&ring, {}}, {Collective::allreduce, 16, count, 4}, {});
    ASSERT_LE(plans.bytes(), PlanCache::kMaxBytes);
  }
  EXPECT_EQ(plans.plans_made(), 1999U);
  EXPECT_NE(plans.find({&ring, {}}, {Collective::allreduce, 16, 1999, 4}, {}), nullptr);
  EXPECT_EQ(plans.find({&ring, {}}, {Collective::allreduce, 16, 1, 4}, {}), nullptr);
}

TEST(Chooser, ForgetsClassesWhereThereAreTooMany) {
  World world;
  warm_up(world);
  EXPECT_TRUE(world.chooser.class_of(kProblem).active);
  const auto version = world.chooser.version();
  for (int i = 0; i < static_cast<int>(Chooser::kMaxClasses) + 1; ++i) {
    world.call({Collective::allreduce, 16, Count{8} << (i % 40), i < 40 ? 1 : 3}, same);
  }
  EXPECT_NE(world.chooser.version(), version);
}

/// Also a class of which all calls go to the library.
TEST(Chooser, KeepsClassesInUse) {
  World world;
  const Problem often{Collective::allreduce, 16, 2, 4};
  constexpr int kCalls = 2 * static_cast<int>(Chooser::kMaxClasses);
  Count count = 64;
  for (int i = 0; i < kCalls; ++i) {
    world.call(often, same);
    count += count / 4;
    world.chooser.class_of({Collective::allreduce, 16, count, 4});
  }
  EXPECT_FALSE(world.chooser.class_of(often).active);
  EXPECT_EQ(world.chooser.class_of(often).calls, static_cast<std::uint64_t>(kCalls));
}

TEST(Chooser, KeepsNoMoreClassesForAnnouncedCalls) {
  World world;
  Count count = 64;
  for (std::size_t i = 0; i < 2 * Chooser::kMaxClasses; ++i) {
    count += count / 4;
    const Problem problem{Collective::allreduce, 16, count, 4};
    (void)world.chooser.expect(problem);
    world.chooser.adopt(problem, native_row(Collective::allreduce), 0);
    EXPECT_NE(world.chooser.known_class(problem), nullptr);
  }
  count = 64;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < 2 * Chooser::kMaxClasses; ++i) {
    count += count / 4;
    kept += world.chooser.known_class({Collective::allreduce, 16, count, 4}) != nullptr ? 1 : 0;
  }
  EXPECT_LE(kept, Chooser::kMaxClasses / 2 + 1);  // each beside its announced calls'
}

// --- Agreement ---

TEST(ChooserSeries, ChoosesTheSameWhenToldTheSame) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    World one, other;
    Random random(seed);
    for (int i = 0; i < 300; ++i) {
      const Problem problem{Collective::allreduce, 16, Count{1} << (random.next() % 3 * 8), 4};
      const auto given =
          random.next() % 2 == 0 ? std::vector<Seconds>{} : one_late(random.uniform());
      const double factor = 0.5 + random.uniform();
      const auto machine = [&](auto row) { return row == "native" ? 1 : factor; };
      ASSERT_EQ(one.call(problem, machine, given), other.call(problem, machine, given)) << i;
      ASSERT_EQ(one.observed, other.observed);
    }
  }
}

/// Rank 0's decisions about announced calls decide nothing about others.
TEST(Chooser, AnnouncedCallsAreApart) {
  World rank_0, rank_1;
  warm_up(rank_0);
  warm_up(rank_1);
  for (int i = 0; i < 50; ++i) {
    (void)rank_1.chooser.expect(kProblem);
    const Decision decision =
        rank_0.chooser.decide_announced(kProblem, rank_0.chooser.expect(kProblem));
    rank_1.chooser.adopt(kProblem, *decision.row, decision.predicted);
    for (World* const world : {&rank_0, &rank_1}) {
      world->observe({}, 50 * decision.predicted);  // the network is slower than rank 0 thought
    }
    // A length that has not come before.
    const Problem other{Collective::allreduce, 16, Count{1} << (i % 3 == 0 ? 10 + i / 3 : 18), 4};
    ASSERT_EQ(rank_0.call(other, same), rank_1.call(other, same)) << i;
    EXPECT_EQ(rank_0.chooser.class_of(other).belief.corrections(),
              rank_1.chooser.class_of(other).belief.corrections())
        << i;
  }
}

/// The exchange after a call of the library's delays the ranks, though they have waited for much
/// longer.
TEST(ChooserSeries, ExchangesTakeLittleOfTheTimeAfterTheLastArrival) {
  const Problem problem{Collective::allreduce, 16, 1 << 14, 4};
  World world;
  const Machine machine = [](auto row) { return row == "native" ? 1 : 2; };
  const auto play_late = [&](int calls) {
    for (int i = 0; i < calls; ++i) (void)world.call(problem, machine, {}, one_late(0.3));
  };
  play_late(200);
  world.observed = 0;
  play_late(400);
  EXPECT_GT(world.observed, 20);
  EXPECT_LT(world.observed, 150);
}

}  // namespace
}  // namespace latecomer
