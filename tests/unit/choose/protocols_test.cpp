// Choices of protocols in rooted collectives, with durations of calls on a made-up machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "choose/chooser.hpp"
#include "price/price.hpp"
#include "unit/choose/made_up_machine.hpp"

namespace latecomer {
namespace {

using namespace testing;

/// One element that takes a merge 8 ms to send.
const Problem kUncut{Collective::reduce, 16, 1, 1 << 20};

/// Somebody else each time.
std::vector<Seconds> some_late(Random& random, Seconds delay) {
  std::vector<Seconds> arrivals(16, 0);
  arrivals[random.below(16)] = delay;
  return arrivals;
}

/// Calls take what prices say for the arrivals that come, and nobody expects any; `worse`: how many
/// times as long ranks of a protocol are in the call; `most`: times the delay that it may be.
Played play_unexpected(World& world, const Problem& problem, Seconds delay, double worse = 1,
                       double max = 1) {
  Random random(7);
  Played played;
  for (int i = 0; i < 600; ++i) {
    const auto arrivals = some_late(random, delay * std::pow(max, random.uniform()));
    const auto elapsed = [&](std::string_view name) {
      const bool native = name == "native";
      const Algorithm& row = find_algorithm(problem.collective, native ? "fastest" : name);
      const Plan plan = make_plan(row, problem, {}, {});
      const Seconds seconds = mean_after_last(plan, {}, arrivals) + waited(arrivals);
      return row.kind == Kind::protocol ? worse * seconds : seconds;
    };
    world.seconds = elapsed;
    played.rows.push_back(world.call(problem, same, {}, arrivals));
  }
  return played;
}

TEST(Chooser, TakesAProtocolWhereNobodyKnowsWhoWillBeLate) {
  World world(16, Collective::reduce);
  const Played played = play_unexpected(world, kUncut, 0.1);
  EXPECT_GE(played.count("local_redirect", 200), 380);  // the library is timed again
}

/// It is not the candidate's merit or fault.
TEST(ChooserSeries, IsNotMisledByHowLateSomebodyHappensToBe) {
  World world(16, Collective::reduce);
  const Played played = play_unexpected(world, kUncut, 0.1, 1, 1000);
  EXPECT_GE(played.count("local_redirect", 200), 380);  // the library is timed again
}

TEST(Chooser, TakesNoProtocolWhereAllArriveTogether) {
  World world(16, Collective::reduce);
  EXPECT_LE(play_unexpected(world, kUncut, 0).count("local_redirect"), 12);  // of 600
}

TEST(ChooserSeries, TakesNoProtocolForWhatCanBeCut) {
  World world(16, Collective::reduce);
  const Problem problem{Collective::reduce, 16, 1 << 18, 4};
  EXPECT_EQ(play_unexpected(world, problem, 0.1).count("local_redirect"), 0);
}

TEST(ChooserSeries, DropsAProtocolThatDisappoints) {
  World world(16, Collective::reduce);
  EXPECT_LE(play_unexpected(world, kUncut, 0.1, 3).count("local_redirect"), 60);
}

}  // namespace
}  // namespace latecomer
