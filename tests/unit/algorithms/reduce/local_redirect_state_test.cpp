// The line of local_redirect in all orders of events for few ranks, and in random ones for many.
#include "algorithms/reduce/local_redirect/local_redirect_state.hpp"

#include <gtest/gtest.h>

#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"
#include "unit/algorithms/reduce/line_world.hpp"
#include "unit/explore.hpp"

namespace latecomer {
namespace {

using reduce::LocalRedirectState;
using testing::LineWorld;

/// The paper's listing: every redirection is followed.
struct Unguarded : LocalRedirectState {
  using LocalRedirectState::LocalRedirectState;
  [[nodiscard]] bool heeds(Rank /*redirected*/) const override { return true; }
};

struct Found {
  std::size_t worlds = 0;
  std::size_t ends = 0;
  std::size_t stuck = 0;
  std::size_t confused = 0;
};

template <class Member>
Found explore(Rank ranks) {
  using World = LineWorld<Member>;
  Found found;
  found.worlds = testing::explore(World(ranks), [&](const World& world, const auto& events) {
    if (world.confused()) ++found.confused;
    if (events.empty()) ++(world.over() ? found.ends : found.stuck);
    return true;
  });
  return found;
}

TEST(LocalRedirectState, InAllOrdersOfEventsTheLastOneGetsAllInOrder) {
  for (Rank ranks = 1; ranks <= 6; ++ranks) {
    const Found found = explore<LocalRedirectState>(ranks);
    EXPECT_GT(found.ends, 0U) << ranks;
    EXPECT_EQ(found.stuck, 0U) << ranks << " ranks, " << found.worlds << " worlds";
    EXPECT_EQ(found.confused, 0U) << ranks;
    RecordProperty("worlds of " + std::to_string(ranks), static_cast<int>(found.worlds));
  }
}

/// Two redirections overtake each other: with four ranks that is possible, with fewer it is not.
TEST(LocalRedirectState, WhoHeedsEveryRedirectionMayWaitForEver) {
  EXPECT_EQ(explore<Unguarded>(3).stuck, 0U);
  EXPECT_GT(explore<Unguarded>(4).stuck, 0U);
}

/// The same by hand, in a line Z-A-B-C: Z hears from B that C is next, and then from A that B is
/// next.
TEST(LocalRedirectState, ARedirectionThatComesLateIsNotHeeded) {
  const auto offers = [](LocalRedirectState& rank) {
    (void)rank.arrive();
    (void)rank.hear(2, {reduce::Said::redirect, 3});
    return rank.hear(1, {reduce::Said::redirect, 2}).tell;
  };
  LocalRedirectState guarded(0, 4);
  EXPECT_TRUE(offers(guarded).empty());
  EXPECT_EQ(guarded.right(), 3);
  Unguarded unguarded(0, 4);
  ASSERT_EQ(offers(unguarded).size(), 1U);
  EXPECT_EQ(unguarded.right(), 2);
}

TEST(LocalRedirectState, WhoIsGoneSaysNothingMore) {
  LocalRedirectState rank(1, 3);
  (void)rank.arrive();
  EXPECT_EQ(rank.hear(2, {reduce::Said::ask, -1}).give_to, 2);
  EXPECT_TRUE(rank.gone());
  for (const auto said : {reduce::Said::offer, reduce::Said::redirect}) {
    EXPECT_TRUE(rank.hear(0, {said, 2}).tell.empty());
  }
}

TEST(LocalRedirectState, InRandomOrdersOfManyRanks) {
  Random seeds(7);
  for (int i = 0; i < testing::random_runs(3000); ++i) {
    const std::uint64_t seed = seeds.next();
    Random random(seed);
    const auto ranks = static_cast<Rank>(1 + random.below(128));
    LineWorld<LocalRedirectState> world(ranks);
    for (auto events = world.events(); !events.empty(); events = world.events()) {
      world.happen(events[random.below(events.size())]);
    }
    ASSERT_TRUE(world.over() && !world.confused()) << "seed " << seed << ", " << ranks << " ranks";
  }
}

}  // namespace
}  // namespace latecomer
