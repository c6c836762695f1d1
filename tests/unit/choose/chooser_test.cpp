// The automatic choice, told what calls took by a made-up machine.
#include "select/selector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/random.hpp"

namespace latecomer {
namespace {

const Network kNetwork{};
const Problem kProblem{Collective::allreduce, 16, 1 << 20, 4};

std::vector<Seconds> one_late(Seconds delay) {
  std::vector<Seconds> arrivals(16, 0);
  arrivals[5] = delay;
  return arrivals;
}

/// Ratio of what a call takes to what was predicted, by row.
using Machine = std::function<double(std::string_view row)>;

struct Played {
  std::vector<std::string_view> rows;  // chosen, call by call
  int told = 0;

  [[nodiscard]] int count(std::string_view row, std::size_t from = 0) const {
    return static_cast<int>(
        std::count(rows.begin() + static_cast<std::ptrdiff_t>(from), rows.end(), row));
  }
};

/// How long ranks wait for the last one on average: part of the prices of rooted calls.
Seconds waited(const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return 0;
  return *std::max_element(arrivals.begin(), arrivals.end()) -
         std::accumulate(arrivals.begin(), arrivals.end(), 0.0) / arrivals.size();
}

/// What is learned of a call comes one call later, as for programs of ours.
Played play(Selector& selector, int calls, const std::vector<Seconds>& arrivals,
            const Machine& machine, const Problem& problem = kProblem) {
  Played played;
  Selector::Selection before;
  for (int i = 0; i < calls; ++i) {
    const auto selection = selector.choose(problem, arrivals, kNetwork);
    if (before.row != nullptr && before.tell) {
      const Seconds price = before.predicted * machine(before.row->name);
      const bool by_elapsed = rooted(problem.collective);
      selector.learn(before, price - (by_elapsed ? waited(arrivals) : 0), arrivals);
    }
    played.rows.push_back(selection.row->name);
    played.told += selection.tell ? 1 : 0;
    before = selection;
  }
  return played;
}

TEST(Selector, TriesBothBalancedCandidatesTwiceFirst) {
  Selector selector;
  const Played played = play(selector, 4, {}, [](auto) { return 1; });
  EXPECT_EQ(played.rows, (std::vector<std::string_view>{"fastest", "fastest", "native", "native"}));
}

TEST(Selector, TriesWhatIsHopelessOnce) {
  Selector selector;
  const Played played = play(selector, 40, {}, [](auto row) { return row == "native" ? 3 : 1; });
  EXPECT_LE(played.count("native"), 2);  // the first one is known of one call later
}

TEST(Selector, TakesTheLibrarysCollectiveWhereThatIsFaster) {
  Selector selector;
  const Played played = play(selector, 200, {}, [](auto row) { return row == "native" ? 0.7 : 1; });
  EXPECT_GE(played.count("native"), 195);
}

TEST(Selector, StaysWithItsOwnWhereBothAreAlike) {
  Selector selector;
  const Played played =
      play(selector, 200, {}, [](auto row) { return row == "native" ? 0.98 : 1; });
  EXPECT_GE(played.count("fastest"), 190);
}

TEST(Selector, ComesBackFromAnUnluckyTrial) {
  Selector selector;
  int natives = 0;
  const Played played = play(selector, 300, {}, [&](auto row) {
    if (row != "native") return 1.0;
    return ++natives <= 2 ? 1.2 : 0.7;  // the machine was busy while it was tried
  });
  EXPECT_GE(played.count("native", 200), 99);
}

TEST(Selector, ExploitsALateRankAtOnce) {
  Selector selector;
  play(selector, 4, {}, [](auto) { return 5; });  // a slower network than assumed
  const Played played = play(selector, 50, one_late(0.5), [](auto) { return 5; });
  EXPECT_EQ(played.count("early_owners"), 50);
}

TEST(Selector, DropsWhatDisappointsAndTriesItAgainEverMoreRarely) {
  Selector selector;
  play(selector, 4, {}, [](auto) { return 1; });
  const Played played = play(selector, 400, one_late(0.5), [](auto row) {
    return row == "fastest" || row == "native" ? 1 : 4;  // the estimate is wrong
  });
  const auto late = [&](std::size_t from) {
    return played.count("early_owners", from) + played.count("sorted_linear_tree", from) +
           played.count("prereduced_ring", from) + played.count("straggler_exchange", from);
  };
  EXPECT_GT(late(0), 0);
  EXPECT_LE(late(0), 4 * 4);  // of four rows
  EXPECT_LE(late(20), 4);
}

/// Of six ranks it is planned as prereduced_ring, which has a name of its own to be tried under.
TEST(Selector, DoesNotTryOnePlanUnderTwoNames) {
  Selector selector;
  const Problem problem{Collective::allreduce, 6, 1 << 20, 4};
  const auto bad = [](auto row) { return row == "fastest" || row == "native" ? 1 : 4; };
  play(selector, 4, {}, bad, problem);
  const Played played = play(selector, 400, {0, 0.5, 0, 0, 0, 0}, bad, problem);
  EXPECT_GT(played.count("prereduced_ring"), 0);
  EXPECT_EQ(played.count("straggler_exchange"), 0);
}

TEST(Selector, OneBadCallIsForgiven) {
  Selector selector;
  play(selector, 4, {}, [](auto) { return 1; });
  int calls = 0;
  const Played played =
      play(selector, 20, one_late(0.5), [&](auto) { return ++calls == 2 ? 9 : 1; });
  EXPECT_EQ(played.count("early_owners"), 20);
}

TEST(Selector, BalancedArrivalsAreNobodysLateness) {
  Selector selector;
  const Played played = play(selector, 60, std::vector<Seconds>(16, 0.25), [](auto) { return 1; });
  EXPECT_EQ(played.count("fastest") + played.count("native"), 60);
}

TEST(Selector, TellsOfShortNativeCallsNowAndThen) {
  for (const Count count : {Count{16}, Count{1} << 20}) {
    Selector selector;
    const Problem problem{Collective::allreduce, 16, count, 4};
    const Played played =
        play(selector, 1000, {}, [](auto row) { return row == "native" ? 0.5 : 1; }, problem);
    const double part = static_cast<double>(played.told) / 1000;
    EXPECT_GT(part, count == 16 ? 0.005 : 0.5);
    EXPECT_LT(part, count == 16 ? 0.05 : 1.01);
  }
}

TEST(Selector, KindsOfCallsAreForgottenWhenThereAreTooMany) {
  Selector selector;
  const auto first = [&](Count count) {
    return play(selector, 1, {}, [](auto) { return 1; }, {Collective::allreduce, 4, count, 4})
        .rows.front();
  };
  for (int round = 0; round < 3; ++round) first(1);
  EXPECT_EQ(first(1), "native");
  for (Count count = 2; count < 2 + static_cast<Count>(Selector::kMost); ++count) first(count);
  EXPECT_EQ(first(1), "fastest");  // unknown again
}

TEST(Selector, ChoosesTheSameWhenToldTheSame) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Selector one, other;
    Random random(seed);
    Selector::Selection before;
    for (int i = 0; i < 200; ++i) {
      const Problem problem{Collective::allreduce, 16, Count{1} << (random.next() % 3 * 8), 4};
      const auto arrivals =
          random.next() % 2 == 0 ? std::vector<Seconds>{} : one_late(random.uniform());
      const auto mine = one.choose(problem, arrivals, kNetwork);
      const auto theirs = other.choose(problem, arrivals, kNetwork);
      ASSERT_EQ(mine.row, theirs.row);
      ASSERT_EQ(mine.tell, theirs.tell);
      const Seconds taken = random.uniform();
      if (before.row != nullptr) one.learn(before, taken, {}), other.learn(before, taken, {});
      before = mine;
    }
  }
}

TEST(Selector, TakesWhatKeepsRankOrderForOperatorsThatDoNotCommute) {
  Selector selector;
  Problem problem = kProblem;
  problem.commutative = false;
  const Played played = play(selector, 30, one_late(0.5), [](auto) { return 1; }, problem);
  EXPECT_EQ(played.count("fastest") + played.count("native"), 30);
}

// --- Rooted collectives, and protocols ---

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
Played play_unexpected(Selector& selector, const Problem& problem, Seconds delay, double worse = 1,
                       double most = 1) {
  Random random(7);
  Played played;
  for (int i = 0; i < 200; ++i) {
    const auto selection = selector.choose(problem, {}, kNetwork);
    const auto arrivals = some_late(random, delay * std::pow(most, random.uniform()));
    const bool native = selection.row->kind == Kind::native;
    const Algorithm& row = native ? find_algorithm(problem.collective, "fastest") : *selection.row;
    const Plan plan = make_plan(row, problem, {}, {{}, kNetwork});
    const Seconds before_last = waited(arrivals);
    const Seconds elapsed = mean_after_last(plan, kNetwork, arrivals) + before_last;
    const double times = row.kind == Kind::protocol ? worse : 1;
    if (selection.tell) selector.learn(selection, times * elapsed - before_last, arrivals);
    played.rows.push_back(selection.row->name);
    played.told += selection.tell ? 1 : 0;
  }
  return played;
}

TEST(Selector, TakesAProtocolWhereNobodyKnowsWhoWillBeLate) {
  Selector selector;
  const Played played = play_unexpected(selector, kUncut, 0.1);
  EXPECT_GE(played.count("local_redirect"), 190);
  EXPECT_GE(played.told, 200 / 8);
}

/// It is not the candidate's merit or fault.
TEST(Selector, IsNotMisledByHowLateSomebodyHappensToBe) {
  Selector selector;
  const Played played = play_unexpected(selector, kUncut, 0.1, 1, 1000);
  EXPECT_GE(played.count("local_redirect"), 190);
}

TEST(Selector, TakesNoProtocolWhereAllArriveTogether) {
  Selector selector;
  EXPECT_EQ(play_unexpected(selector, kUncut, 0).count("local_redirect"), 0);
}

TEST(Selector, TakesNoProtocolForWhatIsShortOrCanBeCut) {
  for (const Problem& problem :
       {Problem{Collective::reduce, 16, 1, 8}, Problem{Collective::reduce, 16, 1 << 18, 4}}) {
    Selector selector;
    EXPECT_EQ(play_unexpected(selector, problem, 0.1).count("local_redirect"), 0);
  }
}

TEST(Selector, TakesNoProtocolWhereItMustNot) {
  Selector selector(false);
  EXPECT_EQ(play_unexpected(selector, kUncut, 0.1).count("local_redirect"), 0);
}

TEST(Selector, DropsAProtocolThatDisappoints) {
  Selector selector;
  EXPECT_LE(play_unexpected(selector, kUncut, 0.1, 3).count("local_redirect"), 40);
}

/// A tree for known arrivals is better, but keeps no rank order.
TEST(Selector, TakesAProtocolForAnExpectedLateRankWhereRankOrderMatters) {
  for (const bool commutative : {true, false}) {
    Selector selector;
    Problem problem = kUncut;
    problem.commutative = commutative;
    const Played played = play(selector, 50, one_late(0.1), [](auto) { return 1; }, problem);
    EXPECT_GE(played.count(commutative ? "static_tree" : "local_redirect"), 45);
  }
}

TEST(Selector, ChoosesTheSameOfRootedCallsToo) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Selector one, other;
    Random random(seed);
    for (int i = 0; i < 100; ++i) {
      const auto arrivals = some_late(random, random.uniform());
      const bool expected = random.next() % 2 == 0;
      const auto mine = one.choose(kUncut, expected ? arrivals : std::vector<Seconds>{}, kNetwork);
      const auto theirs =
          other.choose(kUncut, expected ? arrivals : std::vector<Seconds>{}, kNetwork);
      ASSERT_EQ(mine.row, theirs.row);
      ASSERT_EQ(mine.tell, theirs.tell);
      if (!mine.tell) continue;
      const Seconds taken = random.uniform();
      one.learn(mine, taken, arrivals), other.learn(theirs, taken, arrivals);
    }
  }
}

TEST(Selector, LearnsNothingOfARootedCallWithoutItsArrivals) {
  Selector told, untold;
  for (int i = 0; i < 30; ++i) {
    const auto mine = told.choose(kUncut, {}, kNetwork);
    const auto theirs = untold.choose(kUncut, {}, kNetwork);
    ASSERT_EQ(mine.row, theirs.row) << i;
    told.learn(mine, 1e9, {});
  }
}

}  // namespace
}  // namespace latecomer
