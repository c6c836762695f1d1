// Meetings, by which ranks are linked and reviews compared, in all orders of events: messages of
// any delay, ranks that lose patience at any moment, and one that never comes or stops anywhere.
#include "agreement/meeting_rank.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/random.hpp"
#include "choose/review.hpp"
#include "unit/agreement/meeting_world.hpp"
#include "unit/explore.hpp"

namespace latecomer {
namespace {

using testing::MeetingRules;
using testing::MeetingWorld;

/// Each rank tells its bit.
MeetingWorld::Bytes bits(Rank ranks) {
  MeetingWorld::Bytes all;
  for (Rank rank = 0; rank < ranks; ++rank) all.push_back({static_cast<char>(1 << rank)});
  return all;
}

void unite(Told& all, const Told& theirs) {
  EXPECT_EQ(all[0] & theirs[0], 0) << "a rank is merged twice";
  all[0] = static_cast<char>(all[0] | theirs[0]);
}

struct MeetingFound {
  std::size_t worlds = 0;
  std::size_t disagreeing = 0;
  std::size_t stuck = 0;
  std::set<Met> met;
  std::set<Told> results;
};

MeetingFound explore_meeting(const MeetingWorld& world) {
  MeetingFound found;
  found.worlds = testing::explore(world, [&](const MeetingWorld& now, const auto& events) {
    if (now.disagrees()) ++found.disagreeing;
    if (!events.empty()) return true;
    if (!now.well_ended()) ++found.stuck;
    for (Rank rank = 0; rank < now.ranks(); ++rank) {
      const MeetingRank& member = now.at(rank);
      if (!member.over()) continue;
      found.met.insert(member.met());
      if (member.met() == Met::agreed) found.results.insert(member.told());
    }
    return true;
  });
  return found;
}

MeetingFound explore_meeting(Rank ranks, MeetingRules rules) {
  return explore_meeting(MeetingWorld(bits(ranks), unite, rules));
}

const std::set<Met> kEither = {Met::missed, Met::agreed};

TEST(MeetingRank, InAllOrdersOfEventsAllRanksMeetAlike) {
  std::size_t worlds = 0;
  for (Rank ranks = 1; ranks <= 5; ++ranks) {
    const std::set<Told> all = {{static_cast<char>((1 << ranks) - 1)}};
    for (const MeetingRules rules :
         {MeetingRules{}, {.misses = true}, {.misses = true, .stops = true}}) {
      const MeetingFound found = explore_meeting(ranks, rules);
      const std::string text = std::to_string(ranks) + " ranks" +
                               (rules.misses ? " with little patience" : "") +
                               (rules.stops ? ", one may stop" : "");
      EXPECT_EQ(found.disagreeing, 0U) << text;
      EXPECT_EQ(found.stuck, 0U) << text;
      EXPECT_EQ(found.met, rules.misses && ranks > 1 ? kEither : std::set{Met::agreed}) << text;
      EXPECT_EQ(found.results, all) << text;
      worlds += found.worlds;
    }
  }
  RecordProperty("worlds", static_cast<int>(worlds));
}

TEST(MeetingRank, InAllOrdersOfEventsOneThatDeclinesOrMeetsOtherwiseIsHeardByAll) {
  for (Rank ranks = 2; ranks <= 4; ++ranks) {
    for (Rank who = 0; who < ranks; ++who) {
      const MeetingFound declined = explore_meeting(ranks, {.declines = who});
      EXPECT_EQ(declined.met, std::set{Met::declined}) << who << " of " << ranks;
      EXPECT_EQ(declined.stuck + declined.disagreeing, 0U) << who << " of " << ranks;
      const MeetingFound either = explore_meeting(ranks, {.misses = true, .declines = who});
      EXPECT_EQ(either.met, (std::set{Met::missed, Met::declined})) << who << " of " << ranks;
      EXPECT_EQ(either.stuck + either.disagreeing, 0U) << who << " of " << ranks;
      const MeetingFound stranger = explore_meeting(ranks, {.misses = true, .stranger = who});
      EXPECT_EQ(stranger.met, std::set{Met::missed}) << who << " of " << ranks;
      EXPECT_EQ(stranger.stuck + stranger.disagreeing, 0U) << who << " of " << ranks;
    }
  }
}

/// The search finds the faults of other rules.
TEST(MeetingRank, WhoLeavesBeforeTheVerdictMayDisagree) {
  EXPECT_GT(explore_meeting(2, {.misses = true, .hasty = true}).disagreeing, 0U);
  EXPECT_GT(explore_meeting(2, {.forgets = true}).stuck, 0U);
}

/// Whoever is merged first, all ranks go on with the same bits.
TEST(MeetingRank, InAllOrdersOfEventsReviewsAreTheSameOnAllRanks) {
  const std::uint64_t seed = 16;
  Random random(seed);
  for (Rank ranks = 2; ranks <= 4; ++ranks) {
    MeetingWorld::Bytes tell;
    Review all;
    for (Rank rank = 0; rank < ranks; ++rank) {
      Review mine;
      for (double& value : mine.values()) value = static_cast<double>(random.below(1000));
      if (rank == 0) all = mine;
      all.merge(mine);
      tell.push_back(mine.bytes());
    }
    const MeetingFound found =
        explore_meeting(MeetingWorld(tell, Review::merge_bytes, {.misses = true}));
    EXPECT_EQ(found.disagreeing + found.stuck, 0U) << ranks << " ranks, seed " << seed;
    EXPECT_EQ(found.results, std::set{all.bytes()}) << ranks << " ranks, seed " << seed;
  }
}

}  // namespace
}  // namespace latecomer
