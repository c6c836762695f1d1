// Calls that are only watched, and when they begin to be decided about.
#include <gtest/gtest.h>

#include "unit/choose/made_up_machine.hpp"

namespace latecomer {
namespace {

using namespace testing;

TEST(Chooser, LeavesShortCallsToTheLibraryAndHardlyLooks) {
  World world;
  const Problem problem{Collective::allreduce, 16, 2, 4};
  const Played played = play(world, 20000, {}, [](auto) { return 1e-3; }, problem);  // 0.2 us
  EXPECT_EQ(played.count("native"), 20000);
  EXPECT_LE(world.reviews, 8);
  EXPECT_EQ(world.chooser.watch(), nullptr);
  EXPECT_EQ(world.chooser.plans().plans_made(), 0U);
}

TEST(Chooser, MakesNothingBeforeCallsHavePaidForIt) {
  World world;
  const Problem problem{Collective::allreduce, 16, 1 << 12, 4};
  Seconds before = 0;
  int calls = 0;
  while (world.chooser.watch() == nullptr && calls < 10000) {
    before = world.time;
    world.call(problem, same);
    ++calls;
  }
  EXPECT_GT(calls, 8);
  EXPECT_LT(calls, 2000);
  EXPECT_GE(before, 4 * 400e-6 / Chooser::kSetUp * 0.7);
}

TEST(Chooser, LooksAtLongCallsFromTheSecondOn) {
  World world;
  const Played played = play(world, 10, {}, same);
  EXPECT_NE(world.chooser.watch(), nullptr);
  EXPECT_EQ(played.rows,
            (std::vector<std::string_view>{"native", "native", "native", "native", "native",
                                           "fastest", "fastest", "fastest", "fastest", "native"}));
}

TEST(Chooser, KnowsNothingOfShortRootedCalls) {
  const Problem problem{Collective::bcast, 16, 100, 8};
  EXPECT_FALSE(Chooser::worth_a_class(problem));
  World world(16, Collective::bcast);
  EXPECT_EQ(play(world, 100, {}, same, problem).count("native"), 100);
  EXPECT_EQ(world.reviews, 0);
}

TEST(Chooser, MakesNoLinkWhereThereIsNoRoom) {
  World world;
  CallClass& of = world.chooser.class_of(kProblem);
  for (int i = 0; i < 100; ++i) {
    if (!Chooser::watched(of, 1)) continue;
    EXPECT_FALSE(world.chooser.reviewed(of, kProblem, Chooser::review(of, false)));
  }
  EXPECT_TRUE(Chooser::watched(of, 1) || !of.active);
}

/// As if no resources could be made after all.
TEST(Chooser, GivesUpWhereNoLinkCanBeMade) {
  World world;
  warm_up(world);
  world.chooser.give_up();
  EXPECT_FALSE(world.chooser.class_of(kProblem).active);
}

}  // namespace
}  // namespace latecomer
