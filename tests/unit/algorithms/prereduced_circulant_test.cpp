// The times of prereduced_circulant on the virtual network, and where it is chosen.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "patterns/powers.hpp"
#include "price/price.hpp"
#include "reference/reference.hpp"

namespace latecomer {
namespace {

const Algorithm& circulant_row() {
  return find_algorithm(Collective::allreduce, "prereduced_circulant");
}

std::vector<Seconds> late_by(Seconds delay, Rank ranks, Rank which) {
  std::vector<Seconds> arrivals(static_cast<std::size_t>(ranks), 0);
  arrivals[static_cast<std::size_t>(which)] = delay;
  return arrivals;
}

Seconds last_after(const Plan& plan, const Network& network, const std::vector<Seconds>& arrivals) {
  return std::ranges::max(replay(plan, network, arrivals)) - std::ranges::max(arrivals);
}

/// Start-ups alone count, so the time is that of rounds.
TEST(PrereducedCirculant, NeedsAsFewRoundsAfterOneLateRankAsBlocksAllow) {
  const Network rounds{.alpha = 1, .beta = 0, .gamma = 0};
  for (Rank ranks = 2; ranks <= 40; ++ranks) {
    const Count levels = ceil_log2(ranks);
    for (const Count phases : {1, 2, 5}) {
      const Count blocks = phases * levels + 1;
      const Problem problem{Collective::allreduce, ranks, 60 * blocks, 1};
      const auto arrivals = late_by(1000, ranks, ranks / 3);
      const Plan plan = make_plan(circulant_row(), problem, {{"blocks", blocks}}, {arrivals, {}});
      EXPECT_EQ(last_after(plan, rounds, arrivals), blocks - 1 + levels)
          << ranks << " ranks, " << blocks << " blocks";
    }
  }
}

/// With the number of blocks that it takes by itself, on the network that plans assume.
TEST(PrereducedCirculant, IsWithinAQuarterOfTheVectorsTimeForManyRanks) {
  const Network network;
  for (const Rank ranks : {256, 600}) {
    const Problem problem{Collective::allreduce, ranks, 1 << 20, 4};
    const Seconds vector = network.occupancy(problem.bytes());
    const auto arrivals = late_by(2 * vector, ranks, 17);
    const Plan plan = make_plan(circulant_row(), problem, {}, {arrivals, network});
    EXPECT_LE(last_after(plan, network, arrivals), 1.25 * vector);
  }
}

TEST(PrereducedCirculant, TakesTheLatestRank) {
  const Problem problem{Collective::allreduce, 5, 1000, 4};
  const auto planned = [&](std::vector<Seconds> arrivals) {
    return make_plan(circulant_row(), problem, {}, {std::move(arrivals), {}});
  };
  EXPECT_EQ(planned({1, 3, 2, 0, 0}).table, std::vector<Count>{1});
  EXPECT_EQ(planned({}).table, std::vector<Count>{0});
  EXPECT_EQ(planned({1, 3, 2, 0, 0}), planned({0, 9, 0, 0, 1}));  // so plans are found again
}

TEST(PrereducedCirculant, HasNoMoreBlocksThanElements) {
  const auto blocks = [&](Count count, Count asked) {
    const Problem problem{Collective::allreduce, 3, count, 4};
    return make_plan(circulant_row(), problem, {{"blocks", asked}}, {}).parameters.at("blocks");
  };
  EXPECT_EQ(blocks(1 << 20, 1'000'000'000), 4096);
  EXPECT_EQ(blocks(10, 1'000'000'000), 10);
  EXPECT_EQ(blocks(0, 7), 1);
  EXPECT_EQ(blocks(1 << 20, 77), 77);
}

TEST(PrereducedCirculant, IsChosenForManyRanksOfWhichOneIsLate) {
  const Network network;
  const Algorithm& row = find_algorithm(Collective::allreduce, "auto");
  for (const Rank ranks : {129, 1024}) {
    const Problem problem{Collective::allreduce, ranks, 1 << 20, 4};
    const auto chosen = [&](Seconds delay) {
      return make_plan(row, problem, {}, {late_by(delay, ranks, 5), network}).algorithm;
    };
    EXPECT_EQ(chosen(67e-3), circulant_row().name);
    EXPECT_NE(chosen(1e-3), circulant_row().name);
  }
}

TEST(PrereducedCirculant, IsNoCandidateForShortVectors) {
  const Network network;
  EXPECT_TRUE(may_pay(circulant_row(), {Collective::allreduce, 1024, 1 << 20, 4}, network));
  EXPECT_FALSE(may_pay(circulant_row(), {Collective::allreduce, 1024, 16, 4}, network));
}

/// Two ranks on each of 150 nodes.
TEST(PrereducedCirculant, RunsAmongManyNodesOfWhichOneIsLate) {
  const Network network;
  const Problem problem{Collective::allreduce, 300, 1 << 20, 4};
  Knowledge knowledge{late_by(67e-3, 300, 5), network};
  knowledge.placement = consecutive_placement(300, 2);
  for (const std::string_view name : {"auto", "nodes"}) {
    const Plan plan =
        make_plan(find_algorithm(Collective::allreduce, name), problem, {}, knowledge);
    ASSERT_EQ(plan.inner.size(), 1U);
    EXPECT_EQ(plan.inner.front().algorithm, circulant_row().name);
    EXPECT_EQ(plan.inner.front().table, std::vector<Count>{2});
  }
}

}  // namespace
}  // namespace latecomer
