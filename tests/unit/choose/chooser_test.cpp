// Choices, with durations of calls on a made-up machine.
#include "choose/chooser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "price/price.hpp"
#include "unit/choose/made_up_machine.hpp"

namespace latecomer {
namespace {

using namespace testing;

/// True for the library and programs that do not depend on arrivals.
bool is_balanced(std::string_view row) {
  const Algorithm& algorithm = find_algorithm(Collective::allreduce, row);
  return algorithm.kind != Kind::protocol && !algorithm.arrival_aware;
}

// --- The choice ---

TEST(Chooser, TakesItsOwnWhereThatIsBetter) {
  World world;
  const Played played = play(world, 400, {}, [](auto row) { return row == "native" ? 1.2 : 1; });
  EXPECT_LE(played.count("native", 20), 20);
}

const Problem kShort{Collective::allreduce, 16, 64, 4};

/// Short calls would lose more by being looked at than a plan gains.
TEST(ChooserSeries, RepeatsAPlanForShortCalls) {
  const auto machine = [](auto row) { return row == "native" ? 0.4 : 0.2; };
  World world;
  play(world, 3000, {}, machine, kShort);
  const int before = world.repeated;
  const Played played = play(world, 400, {}, machine, kShort);
  EXPECT_LE(played.count("native"), 10);  // programs with equal prices are equally good
  EXPECT_GE(world.repeated - before, 200);
  EXPECT_LE(world.repeated - before, 390);  // some calls are looked at
}

/// The stamps of one call bring the duration of the one before.
TEST(ChooserSeries, LooksAtCallsInPairsBetweenRepeatedOnes) {
  const auto machine = [](auto row) { return row == "native" ? 0.4 : 0.2; };
  World world;
  play(world, 3000, {}, machine, kShort);
  int stamped = 0, pairs = 0;
  for (int i = 0; i < 400; ++i) {
    const int before = world.repeated;
    world.call(kShort, machine);
    if (world.repeated == before) {
      stamped += world.last.plan && world.last.plan->telemetry ? 1 : 0;
      continue;
    }
    EXPECT_FALSE(world.last.plan->telemetry);
    EXPECT_NE(stamped, 1);
    pairs += stamped == 2 ? 1 : 0;
    stamped = 0;
  }
  EXPECT_GE(pairs, 5);
}

TEST(ChooserSeries, LooksAtEveryLongCallAndWhereRanksAreLate) {
  const auto machine = [](auto row) { return row == "native" ? 2 : 1; };
  World world;
  play(world, 200, {}, machine, kProblem);
  EXPECT_EQ(world.repeated, 0);
  World late;
  play(late, 3000, one_late(100e-6), [](auto row) { return row == "native" ? 0.4 : 0.2; }, kShort);
  EXPECT_EQ(late.repeated, 0);
}

TEST(ChooserSeries, RepeatsNoPlanForAnotherProblem) {
  const auto machine = [](auto row) { return row == "native" ? 0.4 : 0.2; };
  World world;
  play(world, 3000, {}, machine, kShort);
  Problem longer = kShort;  // of the same class
  longer.count += 1;
  ASSERT_EQ(&world.chooser.class_of(longer), &world.chooser.class_of(kShort));
  for (int i = 0; i < 40; ++i) {
    const Problem& problem = i % 2 == 0 ? longer : kShort;
    world.call(problem, machine);
    EXPECT_TRUE(!world.last.plan || world.last.plan->problem.count == problem.count);
  }
}

TEST(ChooserSeries, RepeatsNothingWhenOtherArrivalsAreGiven) {
  const auto machine = [](auto row) { return row == "native" ? 0.4 : 0.2; };
  World world;
  play(world, 3000, {}, machine, kShort);
  const int before = world.repeated;
  world.call(kShort, machine, one_late(100e-6));
  EXPECT_EQ(world.repeated, before);
  EXPECT_FALSE(world.chooser.expected().empty());
}

/// Calls in which candidates are tried are cold, and each is followed by an exchange.
TEST(ChooserSeries, JudgesByUsualCallsAndNotByTrials) {
  World world;
  world.overhead = 3;
  int trials = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool tried = trials < 40 && world.chooser.class_of(kShort).active;
    world.overhead = tried ? 3 : 0;
    trials += tried ? 1 : 0;
    world.call(kShort, [](auto row) { return row == "native" ? 0.4 : 0.2; });
  }
  ASSERT_GT(trials, 0);
  EXPECT_EQ(world.chooser.class_of(kShort).futile_reviews, 0U);
}

/// An exchange after each of these calls may cost half of it.
TEST(Chooser, WaitsForItsPlansWithoutALoss) {
  World world;
  world.overhead = 0.5;
  const auto& of = [&]() -> const CallClass& { return world.chooser.class_of(kProblem); };
  int waiting = 0;
  for (int i = 0; i < 200 && of().arrival_independent.empty(); ++i) {
    world.chooser.class_of(kProblem).budget = -1;  // plans are never affordable
    world.call(kProblem, [](auto) { return 1; });
    waiting += of().active ? 1 : 0;
  }
  EXPECT_GE(waiting, 100);
  EXPECT_EQ(of().futile_reviews, 0U);
}

TEST(Chooser, LosesNothingWhereBothAreAlike) {
  World world;
  play(world, 200, {}, [](auto row) { return row == "native" ? 1 : 1.03; });
  EXPECT_LE(world.moving, 1.025 * 200 * balanced_time(fastest_plan(kProblem), {}));
}

TEST(ChooserSeries, IsNotLockedInByASlowCall) {
  for (int slow = 0; slow < 6; ++slow) {
    World world;
    int natives = 0;
    const Played played = play(world, 300, {}, [&](auto row) {
      if (row != "native") return 1.0;
      return natives++ == slow ? 100 : 0.7;
    });
    EXPECT_GE(played.count("native", 20), 260) << slow;
  }
}

TEST(Chooser, IsNotMisledByASlowTrial) {
  World world;
  int natives = 0;
  const Played played = play(world, 120, {}, [&](auto row) {
    if (row != "native") return 1.0;
    if (!world.chooser.class_of(kProblem).active) return 0.9;
    return ++natives <= 1 ? 9 : 0.5;
  });
  EXPECT_GE(played.count("native", 30), 20);  // in time
}

/// After a late rank deciding takes longer, and all wait for it: short calls are decided about now
/// and then while the library is chosen.
TEST(ChooserSeries, LooksRarelyAtShortCallsOfTheLibraryAfterALateRank) {
  const auto looked_at = [](const Problem& problem) {
    World world;
    const std::vector<Seconds> arrivals = one_late(0.3);
    const auto machine = [](auto row) { return row == "native" ? 0.3 : 1; };
    play(world, 400, arrivals, machine, problem);
    int looks = 0;
    for (int i = 0; i < 200; ++i) {
      looks += Chooser::left_alone(world.chooser.class_of(problem)) ? 0 : 1;
      world.call(problem, machine, arrivals);
    }
    return looks;
  };
  const Problem brief{Collective::allreduce, 16, 1 << 12, 4};
  EXPECT_LE(looked_at(brief), 40);
  EXPECT_GT(looked_at(brief), 0);
  EXPECT_EQ(looked_at(kProblem), 200);
}

/// The machine was busy while the library was tried, for all of its calls.
TEST(ChooserSeries, ComesBackToWhatWasMuchWorse) {
  World world;
  int natives = 0;
  const Played played = play(world, 20000, {}, [&](auto row) {
    if (row != "native") return 1.0;
    return ++natives <= 6 ? 30.0 : 0.5;
  });
  EXPECT_EQ(played.rows.back(), "native");
}

TEST(ChooserSeries, TriesTheWorseEverMoreRarely) {
  World world;
  const Played played = play(world, 20000, {}, [](auto row) { return row == "native" ? 1 : 1.5; });
  const auto others = [&](std::size_t from, std::size_t to) {
    return static_cast<int>(to - from) -
           (played.count("native", from) - played.count("native", to));
  };
  EXPECT_LE(others(100, 20000), 200);  // 1 %, at a loss of a half
  EXPECT_GE(others(100, 20000), 3);
  EXPECT_LE(others(10000, 20000), 100);
}

/// The arrival exchange does not show the overhead.
TEST(ChooserSeries, LeavesCallsAloneWhereDecidingIsDear) {
  World world;
  world.overhead = 0.3;
  const Machine ours_better = [](auto row) { return row == "native" ? 1 : 0.9; };
  const Played played = play(world, 4000, {}, ours_better);
  EXPECT_GE(4000 - played.count("native"), 10);
  EXPECT_LE(3000 - played.count("native", 1000), 150);  // at a loss of 20 %: 1 %
  EXPECT_GE(3000 - played.count("native", 1000), 8);    // it may have become better
}

TEST(ChooserSeries, ComesBackWhereDecidingIsDearNoMore) {
  World world;
  world.overhead = 0.3;
  const Machine ours_better = [](auto row) { return row == "native" ? 1 : 0.9; };
  play(world, 1000, {}, ours_better);
  world.overhead = 0;
  const Played played = play(world, 10000, {}, ours_better);
  EXPECT_LE(played.count("native", 9000), 50);
}

/// As when other programs disturbed a job at its start. Nobody calls the library then, so that only
/// asking it again shows that it is faster.
TEST(ChooserSeries, FindsOutThatTheLibraryHasBecomeFaster) {
  World world;
  const Machine slow_at_first = [&](auto row) {
    return row == "native" ? (world.chooser.class_of(kProblem).calls < 12 ? 1000 : 0.5) : 1;
  };
  const Played played = play(world, 3000, {}, slow_at_first);
  EXPECT_GE(980 - played.count("native", 20) + played.count("native", 1000), 100);
  EXPECT_GE(played.count("native", 1000), 1900);
}

/// Durations of the library may be old: it is asked again before its calls are taken for
/// better.
TEST(ChooserSeries, IsNotMisledByANetworkThatBecomesSlower) {
  World world;
  double slower = 1;
  const Machine ours_better = [&](auto row) { return slower * (row == "native" ? 1.3 : 1); };
  play(world, 300, {}, ours_better);
  slower = 3;
  const Played played = play(world, 700, {}, ours_better);
  EXPECT_LE(played.count("native"), 100);
}

/// The calls that rows for late ranks have carried out, from a call on.
int by_late_rows(const Played& played, std::size_t from = 0) {
  return static_cast<int>(std::count_if(played.rows.begin() + static_cast<std::ptrdiff_t>(from),
                                        played.rows.end(),
                                        [](auto row) { return !is_balanced(row); }));
}

TEST(Chooser, ExploitsALateRankAtOnce) {
  World world;
  warm_up(world, [](auto) { return 5; });  // a slower network than assumed
  const Played played = play(world, 50, one_late(0.5), [](auto) { return 5; });
  EXPECT_GE(by_late_rows(played), 49);
}

TEST(ChooserSeries, DropsWhatDisappointsAndTriesItAgainEverMoreRarely) {
  World world;
  warm_up(world);
  const Played played = play(world, 400, one_late(0.5), [](auto row) {
    return is_balanced(row) ? 1 : 4;  // the estimate is wrong
  });
  const auto late = [&](std::size_t from) { return by_late_rows(played, from); };
  EXPECT_GT(late(0), 0);
  EXPECT_LE(late(0), 6 * 5);  // of six rows
  EXPECT_LE(late(30), 6 * 2);
}

/// Of six ranks it is planned as prereduced_ring, which has a name of its own to be tried under.
TEST(Chooser, DoesNotTryOnePlanUnderTwoNames) {
  World world(6);
  const Problem problem{Collective::allreduce, 6, 1 << 20, 4};
  warm_up(world, same, problem);
  const auto rows = [&] {
    world.call(problem, same, {0, 0.5, 0, 0, 0, 0});
    return std::string(world.last.row->name) + " as " +
           (world.last.plan ? world.last.plan->algorithm : "native");
  };
  std::set<std::string> all;
  for (int call = 0; call < 100; ++call) all.insert(rows());
  EXPECT_TRUE(all.contains("prereduced_ring as prereduced_ring")) << *all.begin();
  EXPECT_FALSE(all.contains("straggler_exchange as prereduced_ring"));
}

TEST(Chooser, OneBadCallIsForgiven) {
  World world;
  warm_up(world);
  int calls = 0;
  const Played played = play(world, 20, one_late(0.5), [&](auto) { return ++calls == 2 ? 9 : 1; });
  EXPECT_EQ(by_late_rows(played), 20);
}

TEST(Chooser, BalancedArrivalsAreNobodysLateness) {
  World world;
  const Played played = play(world, 60, std::vector<Seconds>(16, 0.25), same);
  for (const std::string_view row : played.rows)
    EXPECT_FALSE(find_algorithm(Collective::allreduce, row).arrival_aware) << row;
}

TEST(Chooser, TakesWhatKeepsRankOrderForOperatorsThatDoNotCommute) {
  World world;
  Problem problem = kProblem;
  problem.commutative = false;
  const Played played = play(world, 30, one_late(0.5), same, problem);
  for (const std::string_view row : played.rows)
    EXPECT_TRUE(accepts(find_algorithm(problem.collective, row), problem, nullptr)) << row;
}

TEST(ChooserSeries, TellsOfShortCallsOfTheLibraryNowAndThen) {
  for (const Count count : {Count{1} << 12, Count{1} << 20}) {
    World world;
    const Problem problem{Collective::allreduce, 16, count, 4};
    const auto machine = [](auto row) { return row == "native" ? 0.5 : 1; };
    play(world, 2000, {}, machine, problem);
    const int before = world.observed;
    play(world, 1000, {}, machine, problem);
    EXPECT_GT(world.observed, before);
    if (count == Count{1} << 12) {
      EXPECT_LT(world.observed - before, 300);
    }
  }
}

// --- What planning may cost ---

TEST(ChooserSeries, SizesThatNeverRepeatShareTheirExperience) {
  World world;
  Played played;
  for (Count count = 1 << 20; count < (1 << 20) + 400; ++count) {
    const Problem problem{Collective::allreduce, 16, count, 4};
    played.rows.push_back(world.call(problem, [](auto row) { return row == "native" ? 2 : 1; }));
  }
  EXPECT_LE(played.count("native", 20), 80);  // a class knows it; 70 ms pay for planning
}

/// 40 us do not pay for planning each time.
TEST(Chooser, PlansNothingThatCallsHaveNotPaidFor) {
  World world(4);
  for (Count count = 2000; count < 2400; ++count) {
    const Problem problem{Collective::allreduce, 4, count, 8};
    EXPECT_EQ(world.call(problem, [](auto) { return 0.03; }), "native");
  }
  EXPECT_EQ(world.chooser.plans().plans_made(), 0U);
}

/// Of 16 ranks in each call; of 1024 so seldom that they take 1 % of the time: ten hops of 20 KiB.
TEST(ChooserSeries, SendsStampsAsOftenAsTheyAreWorth) {
  for (const Rank ranks : {16, 1024}) {
    World world(ranks);
    const Problem problem{Collective::allreduce, ranks, 1 << 20, 4};
    const auto machine = [](auto row) { return row == "native" ? 4 : 1; };
    warm_up(world, machine, problem);
    int stamped = 0;
    Seconds calls = 0;
    for (int i = 0; i < 60; ++i) {
      ASSERT_NE(world.call(problem, machine), "native");
      stamped += world.chooser.piggybacks(*world.last.plan) ? 1 : 0;
      calls += world.last.predicted;
      EXPECT_TRUE(world.last.plan->telemetry || !world.last.exchange_arrivals);
    }
    const Seconds each = 10 * 1024 * 20 * Network{}.beta;
    if (ranks == 16) {
      EXPECT_EQ(stamped, 60);
    } else {
      EXPECT_GT(stamped, 0);
      EXPECT_LE(stamped * each, 0.015 * calls);
    }
  }
}

}  // namespace
}  // namespace latecomer
