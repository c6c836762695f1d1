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

/// Returns true if decided calls lose: the library gets the next ones. The arguments are times in
/// milliseconds inside the library's calls, on the rank that is in them for the least time and on
/// the one for the most, and likewise inside decided calls.
bool loses(Seconds library_min, Seconds library_max, Seconds min, Seconds max) {
  World world;
  warm_up(world);
  CallClass& of = world.chooser.class_of(kProblem);
  EXPECT_FALSE(Chooser::left_alone(of));
  Review all;
  for (std::size_t ago = 0; ago < Review::kCalls; ++ago) {
    of.library.add(1);
    of.decided.add(1);
    all.set_call(Reviewed::library, ago, library_min * 1e-3, library_max * 1e-3);
    all.set_call(Reviewed::decided, ago, min * 1e-3, max * 1e-3);
  }
  (void)world.chooser.reviewed(of, kProblem, all);
  return Chooser::left_alone(of);
}

TEST(Chooser, ReviewsCompareTheLeastTimeInACall) {
  EXPECT_FALSE(loses(10, 50, 9, 50));
  EXPECT_TRUE(loses(10, 50, 11, 50));
}

TEST(Chooser, ReviewsCompareTheMeanTooWhereWaitsAreBrief) {
  EXPECT_FALSE(loses(10, 15, 9, 16));
  EXPECT_TRUE(loses(10, 15, 9, 17));
  EXPECT_FALSE(loses(10, 50, 9, 60));
}

}  // namespace
}  // namespace latecomer
