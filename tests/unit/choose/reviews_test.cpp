// Calls that are only watched, and when they begin to be decided about.
#include <gtest/gtest.h>

#include "unit/choose/made_up_machine.hpp"

namespace latecomer {
namespace {

using namespace testing;

TEST(ChooserSeries, LeavesShortCallsToTheLibraryAndHardlyLooks) {
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

TEST(Chooser, LooksAtLongCallsFromTheThirdOn) {
  World world;
  EXPECT_EQ(play(world, 3, {}, same).count("native"), 3);
  EXPECT_NE(world.chooser.watch(), nullptr);
}

TEST(Chooser, KnowsNothingOfShortRootedCalls) {
  const Problem problem{Collective::bcast, 16, 100, 8};
  World world(16, Collective::bcast);
  EXPECT_EQ(world.chooser.glance(problem).call_class, nullptr);
  EXPECT_TRUE(world.chooser.glance(problem).left);
  EXPECT_EQ(play(world, 100, {}, same, problem).count("native"), 100);
  EXPECT_EQ(world.reviews, 0);
}

TEST(Chooser, MakesNoLinkWhereThereIsNoRoom) {
  World world;
  CallClass& of = world.chooser.class_of(kProblem);
  for (int i = 0; i < 100; ++i) {
    if (!world.chooser.watched(of, 1)) continue;
    EXPECT_FALSE(world.chooser.reviewed(of, kProblem, world.chooser.review(of, false)));
  }
  EXPECT_TRUE(world.chooser.watched(of, 1) || !of.active);
}

/// As where a rule, or another communicator's knowledge, has replaced a class that was due.
TEST(Chooser, AReviewOfNoCallDecidesNothing) {
  World world;
  CallClass& of = world.chooser.class_of(kProblem);
  EXPECT_FALSE(world.chooser.reviewed(of, kProblem, world.chooser.review(of, true)));
  EXPECT_FALSE(of.active);
  EXPECT_GT(of.next_event, of.calls);
  EXPECT_EQ(world.chooser.state_hash(), 0U);
}

/// A review has left the next calls to the library.
TEST(Chooser, NewGivenArrivalsDoNotUndoAReview) {
  World world;
  warm_up(world);
  CallClass& of = world.chooser.class_of(kProblem);
  world.overhead = 3;
  for (int i = 0; i < 2000 && of.futile_reviews < 2; ++i) world.call(kProblem, same);
  ASSERT_EQ(of.futile_reviews, 2U);
  ASSERT_GT(of.reviewed, of.calls);
  const std::uint64_t until = of.next_event;
  for (int i = 0; i < 4; ++i) {
    world.chooser.expect_anew();
    EXPECT_EQ(of.next_event, until);
    world.call(kProblem, same);
  }
  of.next_event = of.reviewed = of.calls;
  world.chooser.expect_anew();
  EXPECT_EQ(of.next_event, 0U);
}

/// The cost of the last call is heard when a new network has made its candidates' prices void.
TEST(Chooser, MayHearTheCostOfACallWhosePricesAreGone) {
  World world;
  warm_up(world);
  (void)play(world, 30, one_late(0.5), same);
  Chooser& chooser = world.chooser;
  const auto [of, left] = chooser.glance(kProblem);
  ASSERT_TRUE(of->active && !left);
  chooser.agree_on_network();
  (void)chooser.decide(kProblem, of);
  chooser.policy().network.beta *= 2;
  chooser.agree_on_network();
  EXPECT_TRUE(of->belief.empty());
  chooser.miss();
  EXPECT_TRUE(of->belief.empty());
}

/// Sender and receiver must cut messages alike, whichever of them set the network first. In
/// reproducible mode the ranks' networks may differ.
TEST(Chooser, FollowsANetworkOnceAllRanksHaveSetIt) {
  World world;
  warm_up(world);
  Chooser& chooser = world.chooser;
  CallClass& of = chooser.class_of(kProblem);
  chooser.agree_on_network();
  chooser.policy().network.exchange = 1.3;
  Review all = chooser.review(of, true);
  Review other;
  other.set_network(1);
  all.merge(other);
  (void)chooser.reviewed(of, kProblem, all);
  EXPECT_FALSE(chooser.sends_in_pieces());
  (void)chooser.reviewed(of, kProblem, chooser.review(of, true));
  EXPECT_TRUE(chooser.sends_in_pieces());
  chooser.policy().reproducible = true;
  EXPECT_FALSE(chooser.sends_in_pieces());
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
bool loses(Seconds library_min, Seconds library_max, Seconds min, Seconds max,
           std::size_t library_calls = Review::kCalls) {
  World world;
  warm_up(world);
  CallClass& of = world.chooser.class_of(kProblem);
  EXPECT_FALSE(Chooser::left_alone(of));
  Review all;
  of.library.clear();
  for (std::size_t ago = 0; ago < Review::kCalls; ++ago) {
    if (ago < library_calls) of.library.add(1);
    of.decided.add(1);
    all.set_call(Reviewed::library, ago, library_min * 1e-3, library_max * 1e-3);
    all.set_call(Reviewed::decided, ago, min * 1e-3, max * 1e-3);
  }
  (void)world.chooser.reviewed(of, kProblem, all);
  return Chooser::left_alone(of);
}

/// A machine that was disturbed for a moment must not leave the calls to the library for long.
TEST(Chooser, OneLostReviewPausesForBoundedTime) {
  World world;
  warm_up(world);
  CallClass& of = world.chooser.class_of(kProblem);
  Review all;
  for (std::size_t ago = 0; ago < Review::kCalls; ++ago) {
    all.set_call(Reviewed::library, ago, 1e-3, 1e-3);
    all.set_call(Reviewed::decided, ago, 1, 1);
  }
  for (int review = 0; review < 2; ++review) {
    for (std::size_t i = 0; i < Review::kCalls; ++i) of.decided.add(1);
    of.library.add(1);
    (void)world.chooser.reviewed(of, kProblem, all);
  }
  EXPECT_GT(of.next_event - of.calls, 8);
  EXPECT_LE(of.next_event - of.calls, 801);
}

TEST(Chooser, ReviewsCompareTheLeastTimeInACall) {
  EXPECT_FALSE(loses(10, 50, 9, 50));
  EXPECT_TRUE(loses(10, 50, 11, 50));
}

TEST(Chooser, ReviewsCompareTheMeanTooWhereWaitsAreBrief) {
  EXPECT_FALSE(loses(10, 15, 9, 16));
  EXPECT_TRUE(loses(10, 15, 9, 17));
  EXPECT_FALSE(loses(10, 50, 9, 60));
  // The library's last calls were those of ranks that came together; now they wait for a late one.
  EXPECT_FALSE(loses(10, 11, 9, 300));
  EXPECT_TRUE(loses(10, 11, 12, 300));
  // Of short calls nothing else would show that some ranks leave far later.
  EXPECT_FALSE(loses(10, 11, 10, 26));
  EXPECT_TRUE(loses(0.010, 0.011, 0.010, 0.026));
  EXPECT_FALSE(loses(10, 11, 9, 14, 1));
  EXPECT_TRUE(loses(10, 11, 9, 14, 3));
  EXPECT_TRUE(loses(10, 11, 12, 14, 1));
}

/// Plays calls of the library's collective that take `library`, and of a program that takes `ours`,
/// where watched calls of both take 80 us longer. Returns how many of 400 calls the program gets,
/// once it could be planned.
int program_of_400(const Placement& placement, Seconds library, Seconds ours) {
  const Problem problem{Collective::allreduce, 4, 1 << 14, 4};
  World world(4);
  world.chooser.place(placement);
  world.watching = 80e-6;
  world.seconds = [&](auto row) { return row == "native" ? library : ours; };
  play(world, 10000, {}, same, problem);
  return 400 - play(world, 400, {}, same, problem).count("native");
}

TEST(ChooserSeries, ComparesWholeCallsWhereWatchingThemTakesLonger) {
  const Placement one_node{0, 0, 0, 0};
  const Placement apart{};
  EXPECT_GT(program_of_400(one_node, 50e-6, 40e-6), 300);
  EXPECT_LT(program_of_400(one_node, 50e-6, 60e-6), 30);
  EXPECT_GT(program_of_400(apart, 15e-6, 12e-6), 300);
  EXPECT_LT(program_of_400(apart, 15e-6, 18e-6), 30);
}

TEST(ChooserSeries, PlansShortCallsOfLengthsThatComeAgain) {
  const auto native_calls = [](int lengths) {
    const auto problem = [&](int call) {
      return Problem{Collective::allreduce, 4, (1 << 14) + call % lengths, 4};
    };
    World world(4);
    world.chooser.place({0, 0, 0, 0});
    const Machine machine = [](auto row) { return row == "native" ? 0.1 : 0.05; };
    int calls = 0;
    for (int i = 0; i < 12000; ++i) {
      const bool native = world.call(problem(i), machine) == "native";
      calls += native && i >= 10000 ? 1 : 0;
    }
    EXPECT_LT(world.chooser.class_of(problem(0)).reviewed_elapsed, CallClass::kShort);
    return calls;
  };
  EXPECT_LT(native_calls(8), 400);
  EXPECT_EQ(native_calls(9), 2000);
}

/// As where a rank begins to be late: its calls are watched again.
TEST(ChooserSeries, ComparesWholeCallsNoLongerWhereTheyBecomeLong) {
  const Problem problem{Collective::allreduce, 4, 1 << 14, 4};
  World world(4);
  world.chooser.place({0, 0, 0, 0});
  double factor = 0.1;
  const Machine machine = [&](auto /*row*/) { return factor; };
  play(world, 10000, {}, machine, problem);
  const CallClass& of = world.chooser.class_of(problem);
  EXPECT_LT(of.reviewed_elapsed, CallClass::kShort);
  const int before = world.observed;
  factor = 100;
  play(world, 1000, {}, machine, problem);
  EXPECT_GT(of.reviewed_elapsed, CallClass::kShort);
  EXPECT_GT(world.observed - before, 400);
}

}  // namespace
}  // namespace latecomer
