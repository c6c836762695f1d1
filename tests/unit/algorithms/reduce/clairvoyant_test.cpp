// The rounds of the segmented reduction for known arrivals, and where `auto` picks it. The paper's
// own numbers were not at hand: these are bounds that hold for every reduction.
#include "algorithms/reduce/clairvoyant/clairvoyant.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "patterns/powers.hpp"
#include "reference/reference.hpp"

namespace latecomer::reduce {
namespace {

Count rounds_after_last(const std::vector<Count>& arrivals, Count segments, Rank root) {
  return make_segment_timetable(arrivals, segments, root).rounds - std::ranges::max(arrivals);
}

/// The late rank, or the root if it is late, has to pass each segment through its port: no
/// reduction takes less.
TEST(Clairvoyant, TakesOneRoundASegmentAfterALateRank) {
  for (const Rank ranks : {2, 3, 8, 13, 16, 48}) {
    for (const Count segments : {4, 16, 64}) {
      for (const Rank late : {0, ranks - 1}) {
        std::vector<Count> arrivals(static_cast<std::size_t>(ranks), 0);
        arrivals[late] = 3 * segments;
        EXPECT_EQ(rounds_after_last(arrivals, segments, 0), segments) << ranks << ", late " << late;
      }
    }
  }
}

/// No segmented reduction takes less than S - 1 + ceil(log2 P); a chain takes S + P - 2.
TEST(Clairvoyant, TakesLittleMoreThanTheLeastWhereAllArriveTogether) {
  for (const Rank ranks : {2, 3, 4, 7, 8, 16, 33, 48}) {
    for (const Count segments : {1, 2, 4, 16, 64}) {
      const std::vector<Count> together(static_cast<std::size_t>(ranks), 0);
      const Count least = segments - 1 + ceil_log2(ranks);
      const Count rounds = rounds_after_last(together, segments, ranks / 2);
      EXPECT_GE(rounds, least) << ranks << " ranks, " << segments << " segments";
      EXPECT_LE(rounds, least + 3 + segments / 12) << ranks << " ranks, " << segments;
    }
  }
}

/// Each rank but the root sends each segment once, after all that it receives of it; no port has
/// two messages in a round that is not counted; and the timetable ends, for any arrivals.
TEST(Clairvoyant, EveryRankSendsEachSegmentOnce) {
  Random random(25);
  for (int i = 0; i < 2000; ++i) {
    const auto ranks = static_cast<Rank>(2 + random.below(20));
    const auto root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks)));
    const auto segments = static_cast<Count>(1 + random.below(20));
    const std::uint64_t spread =
        1 + random.below(2 * static_cast<std::uint64_t>(segment_window(ranks, segments)));
    std::vector<Count> arrivals;
    for (Rank rank = 0; rank < ranks; ++rank) {
      arrivals.push_back(static_cast<Count>(random.below(spread)));
    }
    const SegmentTimetable table = make_segment_timetable(arrivals, segments, root);
    std::vector<std::vector<bool>> gone(static_cast<std::size_t>(segments),
                                        std::vector<bool>(static_cast<std::size_t>(ranks)));
    for (const SegmentHop& hop : table.hops) {
      auto&& of_segment = gone[static_cast<std::size_t>(hop.segment)];
      ASSERT_FALSE(of_segment[hop.from] || of_segment[hop.to] || hop.from == root) << "case " << i;
      of_segment[hop.from] = true;
    }
    EXPECT_EQ(table.hops.size(), static_cast<std::size_t>(segments * (ranks - 1)));
    EXPECT_GE(table.rounds, std::ranges::max(arrivals) + segments);
  }
}

/// 1 MiB on 48 ranks: a tree cannot cut the vector, and a chain has to fill.
TEST(Clairvoyant, IsPickedByAuto) {
  const Network network{.alpha = 50e-6, .beta = 8e-9};
  const Problem problem{Collective::reduce, 48, 1 << 18, 4};
  std::vector<Seconds> arrivals(48, 0);
  arrivals[1] = 50e-3;
  for (const auto& each : {std::vector<Seconds>(48, 0), arrivals}) {
    const Plan plan =
        make_plan(find_algorithm(Collective::reduce, "auto"), problem, {}, {each, network});
    EXPECT_EQ(plan.algorithm, "clairvoyant");
  }
}

}  // namespace
}  // namespace latecomer::reduce
