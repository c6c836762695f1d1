// Notices of trouble in all orders of events: ranks that ask at any moment, and one that follows
// another plan, leaves a call to the library, fails or stops.
#include "agreement/notices.hpp"

#include <gtest/gtest.h>

#include <set>

#include "unit/agreement/notices_world.hpp"
#include "unit/explore.hpp"

namespace latecomer {
namespace {

using testing::NoticedCall;
using testing::NoticedRules;
using testing::NoticesWorld;
using Calls = std::vector<NoticedCall>;

struct NoticesFound {
  std::size_t worlds = 0;
  std::set<std::string> lies;
  std::set<std::string> kinds;      // of texts, without ranks and calls
  std::size_t waiting = 0;          // ends in which a rank waits for ever
  std::size_t waiting_for_one = 0;  // likewise, and one has stopped
  std::size_t finished = 0;         // ends in which a rank finished its calls
};

/// The words of a rank, without numbers. Empty: they are not true.
std::string kind_of(const NoticesWorld& world, const Calls& calls, const NoticesWorld::Text& said) {
  const auto other = static_cast<Rank>(said.text[5] - '0');
  const NoticedCall& first = calls.front();
  if (said.text.find(" failed in call ") == 6) return world.failed(other) ? "failed" : "";
  if (said.text.find(" in call 1") == std::string::npos) return "";
  if (said.text.find(" follows another plan") == 6) {
    return first.differs == said.rank || first.differs == other ? "follows another plan" : "";
  }
  if (said.text.find("to announce a plan") != std::string::npos) {
    return first.announced && first.differs == said.rank ? "not announced" : "";
  }
  return first.leaves == said.rank ? "left" : "";
}

NoticesFound explore_notices(Rank ranks, const Calls& calls, NoticedRules rules) {
  NoticesFound found;
  found.worlds = testing::explore(
      NoticesWorld(ranks, calls, rules), [&](const NoticesWorld& world, const auto& events) {
        for (const auto& said : world.texts()) {
          const std::string kind = kind_of(world, calls, said);
          if (kind.empty()) found.lies.insert(std::to_string(said.rank) + " says: " + said.text);
          found.kinds.insert(kind);
        }
        if (!events.empty()) return true;
        for (Rank rank = 0; rank < world.ranks(); ++rank) {
          if (world.stopped(rank) || world.failed(rank)) continue;
          if (world.finished(rank)) {
            ++found.finished;
          } else {
            ++(world.has_stopped() ? found.waiting_for_one : found.waiting);
          }
        }
        return true;
      });
  return found;
}

constexpr NoticedCall kRooted{.all = false};

/// Questions at any moment about calls that are over, that ranks are in, and that are to come.
TEST(Notices, InAllOrdersOfEventsNobodyIsAccusedWhereAllIsWell) {
  std::size_t worlds = 0;
  const auto well = [&](Rank ranks, const Calls& calls, NoticedRules rules) {
    const NoticesFound found = explore_notices(ranks, calls, rules);
    EXPECT_TRUE(found.kinds.empty()) << *found.kinds.begin();
    EXPECT_EQ(found.waiting, 0U);
    EXPECT_GT(found.finished, 0U);
    EXPECT_EQ(found.waiting_for_one > 0, rules.stops);
    worlds += found.worlds;
  };
  well(2, {kRooted, {.exchange = true}, {}}, {});
  well(2, {{.announced = true, .exchange = true}, {}}, {});
  for (Rank asker = 0; asker < 3; ++asker) {
    well(3, {kRooted, {.exchange = true}}, {.asker = asker});
    well(3, {{.announced = true}, {}}, {.asker = asker});
    well(3, {kRooted, {}}, {.stops = true, .asker = asker});
  }
  well(4, {kRooted, {}}, {.asker = 3});
  well(2, {{.refused = 0}, {.announced = true, .refused = 1}}, {});
  for (const bool without : {false, true}) {
    well(2, {{.memory = true, .without = without}, {}}, {});
    well(3, {{.memory = true, .without = without}}, {.asker = 2});
  }
  RecordProperty("worlds", static_cast<int>(worlds));
}

TEST(Notices, InAllOrdersOfEventsAllLearnOfTroubleAndTellTheTruth) {
  std::size_t worlds = 0;
  const auto trouble = [&](Rank ranks, const Calls& calls, NoticedRules rules,
                           const std::set<std::string>& kinds) {
    const NoticesFound found = explore_notices(ranks, calls, rules);
    EXPECT_TRUE(found.lies.empty()) << *found.lies.begin();
    EXPECT_EQ(found.waiting, 0U);
    EXPECT_EQ(found.finished > 0, rules.fails >= 0);  // it need not fail
    EXPECT_EQ(found.kinds, kinds);
    worlds += found.worlds;
  };
  for (Rank who = 0; who < 3; ++who) {
    if (who < 2) {  // with the third one there are as many orders as with the second
      trouble(3, {{.all = false, .differs = who}, {}}, {}, {"failed", "follows another plan"});
    }
    trouble(3, {{.differs = who}, {}}, {}, {"failed", "follows another plan"});
    trouble(3, {{.leaves = who}, {}}, {}, {"failed", "left"});
    trouble(3, {kRooted, {}}, {.fails = who, .asker = 0}, {"failed"});
  }
  trouble(2, {{.memory = true, .differs = 0}, {}}, {}, {"failed", "follows another plan"});
  trouble(3, {{.memory = true, .differs = 1}}, {}, {"failed", "follows another plan"});
  trouble(2, {{.announced = true, .differs = 0}, {}}, {}, {"failed", "not announced"});
  trouble(2, {{.announced = true, .differs = 1}, {}}, {},
          {"failed", "follows another plan", "not announced"});
  trouble(3, {{.announced = true, .differs = 0}, {}}, {}, {"failed", "not announced"});
  RecordProperty("worlds", static_cast<int>(worlds));
}

/// In the MPI library others may wait for this rank, in a call that ended on the one that failed.
TEST(Notices, AFailureInALaterCallEndsNoEarlierOne) {
  Notices notices;
  notices.enter_call(1, 1);
  notices.hear(1, {Notices::kFailed, {.position = 2, .call = 2}});
  EXPECT_FALSE(notices.check());
  notices.enter_call(2, 2);
  EXPECT_EQ(notices.check(), "rank 1 failed in call 2");
}

/// Others may be in the call that the trouble is of.
TEST(Notices, WhoFindsTroubleOfACallBeforeFailsInThatOne) {
  Notices notices;
  notices.enter_call(1, 1);
  notices.enter_part(Notices::Part::plan, 7);
  notices.enter_call(2, 2);
  EXPECT_EQ(notices.failure().from.position, 2U);
  notices.hear(1, {Notices::kAsk, {1, 1, Notices::Part::plan, 8}});
  EXPECT_TRUE(notices.check());
  EXPECT_EQ(notices.failure().from.position, 1U);
  EXPECT_EQ(notices.failure().from.call, 1U);
}

/// The search finds the fault of a rank that forgets what it cannot answer yet.
TEST(Notices, QuestionsAboutCallsToComeMustBeKept) {
  EXPECT_EQ(explore_notices(2, {{.all = false, .differs = 0}, {}}, {}).waiting, 0U);
  EXPECT_GT(explore_notices(2, {{.all = false, .differs = 0}, {}}, {.forgets = true}).waiting, 0U);
}

}  // namespace
}  // namespace latecomer
