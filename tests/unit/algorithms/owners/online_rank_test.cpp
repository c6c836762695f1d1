// The ranks of online owners in all orders of events for few, and in random ones for many.
#include "algorithms/owners/online_rank.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"
#include "unit/algorithms/owners/online_world.hpp"
#include "unit/explore.hpp"

namespace latecomer {
namespace {

using owners::OnlineCall;
using testing::OnlineRules;
using testing::OnlineWorld;

struct Explored {
  std::size_t worlds = 0;
  std::size_t ends = 0;
  std::set<std::vector<Count>> logs;  // the rounds in which ranks are entered
  std::string mistake;
};

/// The mistake in this world; empty if there is none.
std::string look_at_online(const OnlineWorld& world, bool over, Explored& found) {
  ++found.worlds;
  if (!over || !world.mistake().empty()) return world.mistake();
  ++found.ends;
  const std::string wrong = world.wrong_end();
  if (wrong.empty()) found.logs.insert(world.entry_rounds());
  return wrong;
}

/// Up to the first mistake.
Explored explore_online(const OnlineCall& call, OnlineRules rules) {
  Explored found;
  testing::explore(OnlineWorld(call, rules), [&](const OnlineWorld& world, const auto& events) {
    found.mistake = look_at_online(world, events.empty(), found);
    return found.mistake.empty();
  });
  return found;
}

std::string text(const OnlineCall& call, OnlineRules rules) {
  return std::to_string(call.ranks) + " ranks, " + std::to_string(call.blocks) +
         " blocks, coordinator " + std::to_string(call.coordinator) + ", window " +
         std::to_string(call.window) + ", step " + std::to_string(call.step) + ", children " +
         std::to_string(call.children) + (rules.background ? ", background" : "");
}

/// As many as fit in some seconds.
std::vector<OnlineCall> explored_calls() {
  std::vector<OnlineCall> all;
  const auto add = [&](Rank ranks, Count blocks, Count windows) {
    for (Rank coordinator = 0; coordinator < ranks; ++coordinator) {
      for (Count window = 1; window <= windows; ++window) {
        for (Count step = 1; step <= std::min<Count>(window, 2); ++step) {
          for (Rank children = 1; children < ranks; ++children) {
            all.push_back({ranks, blocks, coordinator, window, step, children});
          }
        }
      }
    }
  };
  add(2, 1, 2);
  add(2, 2, 3);
  add(3, 1, 3);
  if (testing::kSanitized) return all;
  add(3, 2, 3);
  for (const OnlineCall& call :
       {OnlineCall{4, 1, 0, 1, 1, 1}, {4, 1, 1, 2, 1, 1}, {4, 1, 2, 1, 1, 2}, {4, 1, 3, 2, 2, 2}}) {
    all.push_back(call);
  }
  return all;
}

TEST(OnlineRank, InAllOrdersOfEventsAllRanksCarryOutTheTimetableOfTheLog) {
  std::size_t worlds = 0;
  std::size_t ends = 0;
  for (const OnlineCall& call : explored_calls()) {
    for (const OnlineRules rules : {OnlineRules{}, OnlineRules{.background = true}}) {
      const Explored found = explore_online(call, rules);
      EXPECT_EQ(found.mistake, "") << text(call, rules);
      worlds += found.worlds;
      ends += found.ends;
    }
  }
  RecordProperty("worlds", static_cast<int>(worlds));
  RecordProperty("ends", static_cast<int>(ends));
}

/// A small window makes more logs: ranks are entered in earlier and in later rounds.
TEST(OnlineRank, TheLogDependsOnTheOrderOfEvents) {
  EXPECT_EQ(explore_online({2, 2, 0, 1, 1, 1}, {}).logs.size(), 1U);  // the first rank waits
  EXPECT_EQ(explore_online({2, 2, 0, 1, 1, 1}, {.background = true}).logs.size(), 2U);
  EXPECT_GT(explore_online({3, 2, 0, 1, 1, 1}, {}).logs.size(),
            explore_online({3, 2, 0, 3, 1, 1}, {}).logs.size());
}

TEST(OnlineRank, ControlMessagesOfAPairMustKeepTheirOrder) {
  if (testing::kSanitized) return;  // too many orders
  const OnlineCall call{3, 3, 1, 2, 1, 2};
  EXPECT_EQ(explore_online(call, {}).mistake, "");
  EXPECT_NE(explore_online(call, {.overtaking = true}).mistake, "");
}

/// Otherwise a rank fills rounds in which another one may still be entered.
TEST(OnlineRank, TheHorizonMustNotMoveBeforeTheEntriesBelowIt) {
  EXPECT_NE(explore_online({3, 2, 0, 1, 1, 1}, {.too_early = true}).mistake, "");
}

/// Some ranks arrive at once, others when something else has happened for a while.
void run_at_random(OnlineWorld& world, Random& random) {
  const std::uint64_t patience = 1 + random.below(400);
  for (auto events = world.events(); !events.empty() && world.mistake().empty();
       events = world.events()) {
    auto event = events[random.below(events.size())];
    if (event.what == OnlineWorld::Happening::arrival && random.below(patience) > 0) {
      event = events[random.below(events.size())];
      if (event.what == OnlineWorld::Happening::arrival && random.below(patience) > 0) continue;
    }
    world.happen(event);
  }
}

TEST(OnlineRank, InRandomOrdersOfManyRanks) {
  Random seeds(6);
  for (int i = 0; i < testing::random_runs(160); ++i) {
    const std::uint64_t seed = seeds.next();
    Random random(seed);
    const auto below = [&](std::uint64_t limit) { return static_cast<Count>(random.below(limit)); };
    const auto ranks = static_cast<Rank>(2 + below(i % 8 == 0 ? 63 : 15));
    const OnlineCall call{ranks,
                          1 + below(i % 4 == 0 ? 130 : 40),
                          static_cast<Rank>(below(static_cast<std::uint64_t>(ranks))),
                          1 + below(12),
                          1 + below(5),
                          static_cast<Rank>(1 + below(4))};
    const OnlineRules rules{.background = below(2) == 0};
    OnlineWorld world(call, rules);
    run_at_random(world, random);
    ASSERT_EQ(world.mistake(), "") << "seed " << seed << ", " << text(call, rules);
    ASSERT_EQ(world.wrong_end(), "") << "seed " << seed << ", " << text(call, rules);
  }
}

}  // namespace
}  // namespace latecomer
