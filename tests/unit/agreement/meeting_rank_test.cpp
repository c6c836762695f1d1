// Meetings, by which ranks are linked and reviews compared, in all orders of events: messages of
// any delay, ranks that lose patience at any moment, and one that never comes or stops anywhere.
#include "agreement/meeting_rank.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "base/reproducible.hpp"
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
         {MeetingRules{},
          {.misses = true},
          {.misses = true, .late = MeetingRank::Late::is_left},
          {.misses = true, .stops = true},
          {.misses = true, .late = MeetingRank::Late::is_left, .stops = true}}) {
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

/// A meeting on a clock, with messages that take no time. `comes`: by rank; kNever for one at most.
class TimedMeeting {
 public:
  explicit TimedMeeting(std::vector<Seconds> comes) : comes_(std::move(comes)) {
    const auto ranks = static_cast<Rank>(comes_.size());
    const auto tell = bits(ranks);
    for (std::size_t i = 0; i < comes_.size(); ++i) {
      members_.emplace_back(ranks, static_cast<Rank>(i), 7, 1.0, tell[i], unite);
    }
    came_.resize(comes_.size());
    while (now_ < MeetingRank::kNever) {
      while (acts()) {
      }
      now_ = next();
      for (std::size_t i = 0; i < members_.size(); ++i) {
        if (waits(i) && due(i) <= now_) act(i, members_[i].miss(now_ - comes_[i]));
      }
    }
  }

  /// The rank that rank 0, or rank 1 where that never came, knows as missing.
  [[nodiscard]] std::optional<Rank> missing() const { return members_[came_[0] ? 0 : 1].missing(); }

  std::set<Met> met;
  std::set<Rank> named;
  Seconds last = 0;  // when the last one was over

 private:
  [[nodiscard]] bool waits(std::size_t i) const { return came_[i] && !members_[i].over(); }
  [[nodiscard]] Seconds due(std::size_t i) const { return comes_[i] + members_[i].awaited().until; }
  [[nodiscard]] Seconds next() const {
    Seconds soonest = MeetingRank::kNever;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!came_[i]) soonest = std::min(soonest, comes_[i]);
      if (waits(i)) soonest = std::min(soonest, due(i));
    }
    return soonest;
  }
  /// Returns false if nothing can happen now.
  bool acts() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      MeetingRank& member = members_[i];
      if (!came_[i] && comes_[i] <= now_) {
        came_[i] = true;
        return act(i, member.come());
      }
      if (!waits(i)) continue;
      if (member.asked()) return act(i, member.answer(true, now_ - comes_[i]));
      const auto awaited = member.awaited();
      const auto found = box_.find({awaited.from, static_cast<Rank>(i), awaited.step});
      if (found == box_.end()) continue;
      const MeetingRank::Message message = found->second;
      box_.erase(found);
      return act(i, member.hear(message, now_ - comes_[i]));
    }
    return false;
  }
  bool act(std::size_t i, const MeetingRank::Actions& actions) {
    const auto me = static_cast<Rank>(i);
    for (const auto& [to, message] : actions.tell) box_[{me, to, message.step}] = message;
    if (actions.missed) named.insert(*actions.missed);
    if (actions.awaited) named.insert(*actions.awaited);
    if (!members_[i].over()) return true;
    met.insert(members_[i].met());
    last = now_;
    return true;
  }

  std::vector<Seconds> comes_;
  std::vector<MeetingRank> members_;
  std::vector<bool> came_;
  std::map<std::tuple<Rank, Rank, MeetingRank::Step>, MeetingRank::Message> box_;
  Seconds now_ = 0;
};

/// Ranks whose times differ by less than their patience, all of them or all but one.
TEST(MeetingRank, WhoComesInTimeIsMetAndWhoDoesNotIsNamed) {
  const Seconds times[] = {0, 0.25, 0.5};
  for (Rank ranks = 2; ranks <= 7; ++ranks) {
    int cases = 1;
    for (Rank i = 0; i < ranks; ++i) cases *= 3;
    for (int i = 0; i < cases; ++i) {
      std::vector<Seconds> comes;
      for (int rest = i; comes.size() < static_cast<std::size_t>(ranks); rest /= 3) {
        comes.push_back(times[rest % 3]);
      }
      const TimedMeeting all(comes);
      ASSERT_EQ(all.met, std::set{Met::agreed}) << "case " << i << " of " << ranks << " ranks";
      ASSERT_TRUE(all.named.empty());
      ASSERT_LE(all.last, 0.5);
      const Rank gone = i % ranks;
      comes[static_cast<std::size_t>(gone)] = MeetingRank::kNever;
      const TimedMeeting others(comes);
      ASSERT_EQ(others.met, std::set{Met::missed}) << "case " << i << " of " << ranks << " ranks";
      ASSERT_EQ(others.named, std::set{gone}) << "case " << i << " of " << ranks << " ranks";
      ASSERT_EQ(others.missing(), gone) << "case " << i << " of " << ranks << " ranks";
      ASSERT_LE(others.last, 0.5 + 7);  // three levels, one, and at most three above
      // Who comes when all have left hears so at once, whatever its patience.
      comes[static_cast<std::size_t>(gone)] = 100;
      const TimedMeeting late(comes);
      ASSERT_EQ(late.met, std::set{Met::missed}) << "case " << i << " of " << ranks << " ranks";
      ASSERT_EQ(late.last, 100) << "case " << i << " of " << ranks << " ranks, rank " << gone;
    }
  }
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
