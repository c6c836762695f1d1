#include "arrival/bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "reference/reference.hpp"

namespace latecomer {
namespace {

// Long messages only: no rank receives before it arrives.
constexpr Network kUnit{.alpha = 0, .beta = 1, .gamma = 0, .eager_limit = 0};

Seconds least(const std::vector<Seconds>& arrivals, const Network& network = kUnit) {
  return least_after_last({Collective::allreduce, static_cast<Rank>(arrivals.size()), 1, 1},
                          arrivals, network);
}

TEST(Bound, BalancedIsTheClassicalOne) {
  EXPECT_DOUBLE_EQ(least({0, 0, 0, 0}), 1.5);
  EXPECT_DOUBLE_EQ(least(std::vector<Seconds>(48, 7.0)), 2 * 47.0 / 48);
}

TEST(Bound, OneLateRankMeetsOneTransferAtItsTurningPoint) {
  const Rank ranks = 8;
  const auto late = [&](Seconds delay) {
    std::vector<Seconds> arrivals(ranks, 0.0);
    arrivals[2] = delay;
    return least(arrivals);
  };
  EXPECT_NEAR(late(0.5), (2.0 * 7 - 7 * 0.5) / 8, 1e-12);
  EXPECT_NEAR(late(6.0 / 7), 1, 1e-12);
  EXPECT_DOUBLE_EQ(late(100), 1);
}

TEST(Bound, ManyLateTogether) {
  std::vector<Seconds> arrivals(16, 0.0);
  for (int i = 0; i < 4; ++i) arrivals[static_cast<std::size_t>(i)] = 100;
  EXPECT_NEAR(least(arrivals), (16 + 4 - 1) / 16.0, 1e-12);
}

TEST(Bound, TrivialCasesAndLatency) {
  EXPECT_EQ(least({5}), 0);
  EXPECT_EQ(least_after_last({Collective::allreduce, 4, 0, 1}, {}, kUnit), 0);
  EXPECT_DOUBLE_EQ(least(std::vector<Seconds>(9, 0.0), {.alpha = 100, .beta = 1}), 401);
}

TEST(Bound, LatePartsNeedAllRoundsAfterTheyLeft) {
  std::vector<Seconds> arrivals(8, 0.0);
  arrivals[5] = 1000;
  EXPECT_DOUBLE_EQ(least(arrivals, {.alpha = 2, .beta = 1, .eager_limit = 0}), 1 + 3 * 2);
  // Two ports tell two others in a round.
  EXPECT_DOUBLE_EQ(least(std::vector<Seconds>(9, 0.0), {.alpha = 100, .beta = 1, .ports = 2}), 200);
}

/// Half of the ranks late by half a vector: they could have received in the meantime.
TEST(Bound, BackgroundProgressLowersIt) {
  const Network network{.alpha = 0, .beta = 1, .eager_limit = 0};
  std::vector<Seconds> arrivals(16, 0.0);
  for (std::size_t i = 8; i < 16; ++i) arrivals[i] = 0.5;
  const Problem problem{Collective::allreduce, 16, 1, 1};
  const Seconds foreground = least_after_last(problem, arrivals, network);
  const Seconds background = least_after_last(problem, arrivals, network, Progress::background);
  EXPECT_DOUBLE_EQ(foreground, (8 * 0.5 + 2 * 15) / 16 - 0.5);
  EXPECT_DOUBLE_EQ(background, (15.0 + 8 - 1) / 16);
  // A network that takes in messages on its own does so before the arrival.
  EXPECT_DOUBLE_EQ(least_after_last(problem, arrivals, {.alpha = 0, .beta = 1}), background);
}

TEST(Bound, RanksOfANodeCountAsOne) {
  const Network shared{.alpha = 0, .beta = 1, .per_node = 4};
  EXPECT_DOUBLE_EQ(least(std::vector<Seconds>(16, 0.0), shared), 2 * 3.0 / 4);
  const Network alone{.alpha = 5, .beta = 7, .per_node = 4, .local_alpha = 1, .local_beta = 1};
  EXPECT_DOUBLE_EQ(least(std::vector<Seconds>(4, 0.0), alone), 2 + 1);
}

TEST(Bound, WhatPassesAtOnceComesSooner) {
  const Network shaped{.alpha = 1, .beta = 1, .burst = 10};
  EXPECT_DOUBLE_EQ(least(std::vector<Seconds>(2, 0.0), shaped), 1);
  // With two ports the burst is more than the vector's part on each: still no time below 0.
  EXPECT_DOUBLE_EQ(
      least(std::vector<Seconds>(2, 0.0), {.alpha = 0, .beta = 1, .ports = 2, .burst = 9}), 0);
  const Problem problem{Collective::allreduce, 2, 30, 1};
  EXPECT_DOUBLE_EQ(least_after_last(problem, {0, 100}, shaped), 1 + 20);
}

struct World {
  Network network;
  Progress progress = Progress::foreground;
};

std::vector<World> worlds() {
  std::vector<World> all;
  for (const Progress progress : {Progress::foreground, Progress::background}) {
    for (const Count eager : {0, 65536}) {
      for (const Count ports : {1, 2}) {
        for (const Rank per_node : {1, 3}) {
          for (const Count burst : {0, 20000}) {
            Network network;
            network.eager_limit = eager;
            network.ports = ports;
            network.per_node = per_node;
            network.burst = burst;
            all.push_back({network, progress});
          }
        }
      }
    }
  }
  return all;
}

void expect_no_run_beats_it(const Algorithm& row, Rank ranks, const World& world, int pattern) {
  SimulationOptions options;
  options.network = world.network;
  const Problem problem{row.collective, ranks, 1 << 14};
  for (const Seconds spread : {1e-4, 1e-2}) {
    options.arrivals = testing::arrival_pattern(pattern, ranks, spread, 7);
    Plan plan = make_plan(row, problem, {}, {options.arrivals, options.network});
    plan.progress = world.progress;
    const Seconds last = *std::max_element(options.arrivals.begin(), options.arrivals.end());
    const Seconds took = simulate(build_programs(plan), options).last_exit() - last;
    EXPECT_GE(took * (1 + 1e-9),
              least_after_last(problem, options.arrivals, options.network, world.progress))
        << to_text(plan) << to_string(world.network) << "\narrivals " << pattern;
  }
}

TEST(Bound, NoSimulatedRunBeatsIt) {
  for (const Algorithm& row : registry(Collective::allreduce)) {
    if (row.kind != Kind::program) continue;
    for (const Rank ranks : {2, 3, 8, 13}) {
      for (const World& world : worlds()) {
        for (int pattern = 0; pattern < testing::kArrivalPatterns; ++pattern) {
          expect_no_run_beats_it(row, ranks, world, pattern);
        }
      }
    }
  }
}

/// Chains, rings and trees with equal segments, one to a message.
TEST(Bound, NoScheduleInBlocksBeatsItsOwn) {
  for (const std::string name : {"segmented_ring", "sorted_linear_tree", "prereduced_ring",
                                 "dual_root", "pipelined_tree", "two_tree"}) {
    const Algorithm& row = find_algorithm(Collective::allreduce, name);
    for (const Rank ranks : {2, 5, 8, 16}) {
      for (const Count blocks : {Count{ranks}, Count{4} * ranks}) {
        SimulationOptions options;
        const Problem problem{row.collective, ranks, Count{ranks} * 4 * 1000};
        options.arrivals = testing::arrival_pattern(1, ranks, 1e-2, 7);
        const Plan plan =
            make_plan(row, problem, {{"segments", blocks}}, {options.arrivals, options.network});
        const Seconds last = *std::max_element(options.arrivals.begin(), options.arrivals.end());
        const Seconds took = simulate(build_programs(plan), options).last_exit() - last;
        EXPECT_GE(took * (1 + 1e-9), least_in_blocks(problem, blocks, options.network))
            << to_text(plan);
      }
    }
  }
}

}  // namespace
}  // namespace latecomer
