// The ranks of an arrival broadcast in all orders of events for few, and in random ones for many.
#include "algorithms/bcast/arrival/arrival_rank.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"
#include "unit/algorithms/bcast/arrival_world.hpp"
#include "unit/explore.hpp"

namespace latecomer {
namespace {

using bcast::ArrivalRank;
using bcast::Feeding;
using bcast::Said;
using bcast::Step;
using testing::ArrivalWorld;
using testing::Rules;

struct Found {
  std::size_t worlds = 0;
  std::size_t ends = 0;
  std::size_t stuck = 0;
  std::size_t confused = 0;
  std::size_t waiting = 0;  // worlds in which ranks that are there wait for one that is not
};

void look_at(const ArrivalWorld& world, const std::vector<ArrivalWorld::Event>& events,
             Found& found) {
  ++found.worlds;
  if (world.confused()) ++found.confused;
  if (events.empty()) return void(++(world.over() ? found.ends : found.stuck));
  const bool arrivals = std::ranges::all_of(
      events, [](const auto& event) { return event.what == ArrivalWorld::Happening::arrival; });
  if (arrivals && world.keeps_waiting()) ++found.waiting;
}

Found explore(const Feeding& feeding, Rules rules) {
  Found found;
  testing::explore(ArrivalWorld(feeding, rules),
                   [&](const ArrivalWorld& world, const auto& events) {
                     look_at(world, events, found);
                     return true;
                   });
  return found;
}

/// From three ranks and segments on, the root may leave the rest to a chain's end. Another root is
/// another numbering: with many segments, which have most orders, one root is enough.
std::vector<Feeding> feedings() {
  std::vector<Feeding> all = {{4, 0, 2, 1}, {5, 0, 1, 0}, {4, 0, 1, 1}};
  for (Rank ranks = 1; ranks <= 3; ++ranks) {
    for (Count segments = 0; segments <= 4; ++segments) {
      for (const Count ahead : {0, 1, 3}) {
        const Rank first = segments <= 2 ? 0 : ranks - 1;
        for (Rank root = first; root < ranks; ++root) all.push_back({ranks, root, segments, ahead});
      }
    }
  }
  return all;
}

/// These few have most worlds; one set of rules is enough, since others differ with fewer, too.
bool has_many_worlds(const Feeding& feeding) {
  return feeding.segments > 3 || feeding.ranks > 4 || (feeding.ranks > 3 && feeding.segments > 1);
}

std::string text(const Feeding& feeding, Rules rules) {
  return std::to_string(feeding.ranks) + " ranks, root " + std::to_string(feeding.root) + ", " +
         std::to_string(feeding.segments) + " segments" + ", announced " +
         std::to_string(feeding.ahead) + (rules.waits ? ", waiting" : "") + ", room " +
         std::to_string(rules.room);
}

TEST(ArrivalRank, InAllOrdersOfEventsAllGetAllAndNobodyWaitsForAbsentRanks) {
  std::size_t worlds = 0;
  for (const Feeding& feeding : feedings()) {
    for (const Rules rules : {Rules{}, Rules{.waits = true}, Rules{.room = 0}}) {
      if (has_many_worlds(feeding) && (rules.waits || rules.room == 0)) continue;
      const Found found = explore(feeding, rules);
      EXPECT_GT(found.ends, 0U) << text(feeding, rules);
      EXPECT_EQ(found.stuck, 0U) << text(feeding, rules);
      EXPECT_EQ(found.confused, 0U) << text(feeding, rules);
      EXPECT_EQ(found.waiting, 0U) << text(feeding, rules);
      worlds += found.worlds;
    }
  }
  RecordProperty("worlds", static_cast<int>(worlds));
}

/// A rank that has all must hear that no rank follows: otherwise the next one may be sent to it
/// after it has left.
TEST(ArrivalRank, WhoLeavesUnaskedMayLeaveOthersStuck) {
  EXPECT_EQ(explore({2, 0, 1, 0}, {.hasty = true}).stuck, 0U);
  EXPECT_GT(explore({3, 0, 1, 0}, {.hasty = true}).stuck, 0U);
}

/// A transport that keeps only so many messages for a rank that is absent lets no words pass them.
TEST(ArrivalRank, WhatIsAnnouncedTooLateStandsInFrontOfItsWord) {
  EXPECT_GT(explore({2, 0, 4, 4}, {.room = 3, .behind = true}).stuck, 0U);
  EXPECT_EQ(explore({2, 0, 4, 4}, {.room = 4, .behind = true}).stuck, 0U);
  EXPECT_EQ(explore({2, 0, 4, 4}, {.room = 0}).stuck, 0U);
}

TEST(ArrivalRank, InRandomOrdersOfManyRanks) {
  Random seeds(5);
  for (int i = 0; i < testing::random_runs(3000); ++i) {
    const std::uint64_t seed = seeds.next();
    Random random(seed);
    const auto below = [&](std::uint64_t limit) { return static_cast<Count>(random.below(limit)); };
    const auto ranks = static_cast<Rank>(1 + below(i % 2 == 0 ? 128 : 16));
    const Feeding feeding{ranks, static_cast<Rank>(below(static_cast<std::uint64_t>(ranks))),
                          below(ranks > 32 ? 4 : 12), below(6)};
    const Rules rules{.waits = below(2) == 0, .room = below(3)};
    ArrivalWorld world(feeding, rules);
    for (auto events = world.events(); !events.empty(); events = world.events()) {
      world.happen(events[random.below(events.size())]);
    }
    ASSERT_TRUE(world.over() && !world.confused())
        << "seed " << seed << ", " << text(feeding, rules);
  }
}

bool tells(const Step& step, Rank to, const bcast::Word& word) {
  return std::ranges::any_of(
      step.tell, [&](const auto& telling) { return telling.to == to && telling.word == word; });
}

TEST(RootScheduler, LetsTheEndOfAChainFeedWhoComesMeanwhile) {
  bcast::RootScheduler root(0, 4, 1, 0);
  EXPECT_TRUE(root.arrive().send.empty());
  const Step first = root.hear(2, {Said::here});
  EXPECT_TRUE(tells(first, 2, {Said::feed}));
  ASSERT_EQ(first.send.size(), 1U);
  EXPECT_EQ(first.send.front().peer, 2);
  const Step second = root.hear(1, {Said::here});
  EXPECT_TRUE(tells(second, 2, {Said::next, 1, 0}));
  EXPECT_TRUE(second.send.empty());
  EXPECT_TRUE(tells(root.sent(2), 1, {Said::last}));
  EXPECT_FALSE(root.done());
  const Step third = root.hear(3, {Said::here});
  EXPECT_TRUE(tells(third, 3, {Said::feed}));
  EXPECT_TRUE(tells(third, 3, {Said::last}));  // all are there
  (void)root.sent(3);
  EXPECT_TRUE(root.done());
}

TEST(RootScheduler, AheadItWaitsForNobody) {
  bcast::RootScheduler root(1, 3, 2, 16);
  Step step = root.arrive();
  std::vector<Rank> sent;
  for (int i = 0; i < 4; ++i) {
    for (const auto& transfer : step.send) sent.push_back(transfer.peer);
    step = root.sent(sent[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(sent, (std::vector<Rank>{0, 0, 2, 2}));
  EXPECT_TRUE(tells(step, 2, {Said::last}));
  EXPECT_TRUE(root.done());
}

TEST(RootScheduler, AnnouncesWhatItSendsAhead) {
  bcast::RootScheduler root(0, 2, 5, 3);
  const Step first = root.arrive();
  EXPECT_TRUE(tells(first, 1, {Said::soon, -1, 3}));
  EXPECT_EQ(first.send.size(), 2U);
  EXPECT_TRUE(root.sent(1).tell.empty());
  EXPECT_TRUE(tells(root.sent(1), 1, {Said::soon, -1, 5}));
}

TEST(RootScheduler, LeavesWhatIsNotAnnouncedToAChainThatItFeedsMeanwhile) {
  bcast::RootScheduler root(0, 3, 9, 5);
  EXPECT_EQ(root.arrive().send.size(), 2U);  // to rank 1
  EXPECT_EQ(root.hear(2, {Said::here}).send.size(), 2U);
  const Step met = root.hear(1, {Said::here});
  EXPECT_TRUE(tells(met, 2, {Said::next, 1, 5}));
  EXPECT_EQ(met.send.size(), 3U);
}

TEST(Forwarder, ReceivesWhatIsAnnouncedWhoeverSendsTheRest) {
  bcast::Forwarder rank(0, 3);
  (void)rank.hear(0, {Said::soon, -1, 1});
  EXPECT_EQ(rank.arrive().receive.size(), 1U);
  const Step step = rank.hear(2, {Said::feed, -1, 1});
  ASSERT_EQ(step.receive.size(), 1U);
  EXPECT_EQ(step.receive.front().peer, 2);
  EXPECT_TRUE(step.receive.front().first);
}

TEST(Forwarder, WhomTheRootFedAheadSaysNothing) {
  bcast::Forwarder rank(0, 1);
  (void)rank.hear(0, {Said::soon, -1, 1});
  EXPECT_TRUE(rank.hear(0, {Said::last}).receive.empty());
  const Step step = rank.arrive();
  EXPECT_TRUE(step.tell.empty());
  EXPECT_EQ(step.receive.size(), 1U);
  (void)rank.received(0);
  EXPECT_TRUE(rank.done());
}

}  // namespace
}  // namespace latecomer
