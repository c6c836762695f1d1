#include "bounds/lower_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "reference/reference.hpp"

namespace latecomer {
namespace {

// Long messages only: no rank receives before it arrives.
constexpr Network kUnit{.alpha = 0, .beta = 1, .gamma = 0, .eager_limit = 0};

Seconds min(const std::vector<Seconds>& arrivals, const Network& network = kUnit) {
  return least_after_last({Collective::allreduce, static_cast<Rank>(arrivals.size()), 1, 1},
                          arrivals, network);
}

TEST(Bound, BalancedIsTheClassicalOne) {
  EXPECT_DOUBLE_EQ(min({0, 0, 0, 0}), 1.5);
  EXPECT_DOUBLE_EQ(min(std::vector<Seconds>(48, 7.0)), 2 * 47.0 / 48);
}

TEST(Bound, OneLateRankMeetsOneTransferAtItsTurningPoint) {
  const Rank ranks = 8;
  const auto late = [&](Seconds delay) {
    std::vector<Seconds> arrivals(ranks, 0.0);
    arrivals[2] = delay;
    return min(arrivals);
  };
  EXPECT_NEAR(late(0.5), (2.0 * 7 - 7 * 0.5) / 8, 1e-12);
  EXPECT_NEAR(late(6.0 / 7), 1, 1e-12);
  EXPECT_DOUBLE_EQ(late(100), 1);
}

TEST(Bound, ManyLateTogether) {
  std::vector<Seconds> arrivals(16, 0.0);
  for (int i = 0; i < 4; ++i) arrivals[static_cast<std::size_t>(i)] = 100;
  EXPECT_NEAR(min(arrivals), (16 + 4 - 1) / 16.0, 1e-12);
}

TEST(Bound, TrivialCasesAndLatency) {
  EXPECT_EQ(min({5}), 0);
  EXPECT_EQ(least_after_last({Collective::allreduce, 4, 0, 1}, {}, kUnit), 0);
  EXPECT_DOUBLE_EQ(min(std::vector<Seconds>(9, 0.0), {.alpha = 100, .beta = 1}), 401);
}

TEST(Bound, LatePartsNeedAllRoundsAfterTheyLeft) {
  std::vector<Seconds> arrivals(8, 0.0);
  arrivals[5] = 1000;
  EXPECT_DOUBLE_EQ(min(arrivals, {.alpha = 2, .beta = 1, .eager_limit = 0}), 1 + 3 * 2);
  // Two ports tell two others in a round.
  EXPECT_DOUBLE_EQ(min(std::vector<Seconds>(9, 0.0), {.alpha = 100, .beta = 1, .ports = 2}), 200);
}

/// Parts of different lengths: those that come at some time or later have to reach each node then.
TEST(Bound, AllGathersOfAnyPartsAreAtLeastTheirDefinition) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Rank ranks = 2 + static_cast<Rank>(random.below(12));
    Problem problem{Collective::allgather, ranks, 0, 4};
    std::vector<Seconds> arrivals;
    for (Rank rank = 0; rank < ranks; ++rank) {
      problem.parts.push_back(static_cast<Count>(random.below(50)));
      problem.count += problem.parts.back();
      arrivals.push_back(static_cast<double>(random.below(4)));
    }
    const Network network{.alpha = 0, .beta = 0.01, .per_node = 1 + static_cast<Rank>(seed % 3)};
    const Seconds last = *std::max_element(arrivals.begin(), arrivals.end());
    Seconds least = last;
    for (Rank node = 0; node < ranks; node += network.per_node) {
      for (const Seconds since : arrivals) {
        Count bytes = 0;
        for (Rank rank = 0; rank < ranks; ++rank) {
          const bool counts = network.node(rank) != network.node(node) &&
                              arrivals[static_cast<std::size_t>(rank)] >= since;
          bytes += counts ? 4 * problem.parts[static_cast<std::size_t>(rank)] : 0;
        }
        least = std::max(least, since + network.beta * static_cast<double>(bytes));
      }
    }
    // Nobody tells others of parts in less time than it takes to receive them.
    EXPECT_GE(least_after_last(problem, arrivals, network, Progress::background),
              least - last - 1e-12);
  }
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
  EXPECT_DOUBLE_EQ(min(std::vector<Seconds>(16, 0.0), shared), 2 * 3.0 / 4);
  // On one node nothing starts up, and the faster of copying and combining counts.
  Network alone{.alpha = 5, .beta = 7, .gamma = 4, .per_node = 4, .local_beta = 2};
  EXPECT_DOUBLE_EQ(min(std::vector<Seconds>(4, 0.0), alone), 2 * 2 * 3.0 / 4);
  alone.gamma = 1;
  EXPECT_DOUBLE_EQ(min(std::vector<Seconds>(4, 0.0), alone), 2 * 3.0 / 4);
}

TEST(Bound, WhatPassesAtOnceComesSooner) {
  const Network shaped{.alpha = 1, .beta = 1, .burst = 10};
  EXPECT_DOUBLE_EQ(min(std::vector<Seconds>(2, 0.0), shaped), 1);
  // With two ports the burst is more than the vector's part on each: still no time below 0.
  EXPECT_DOUBLE_EQ(
      min(std::vector<Seconds>(2, 0.0), {.alpha = 0, .beta = 1, .ports = 2, .burst = 9}), 0);
  const Problem problem{Collective::allreduce, 2, 30, 1};
  EXPECT_DOUBLE_EQ(least_after_last(problem, {0, 100}, shaped), 1 + 20);
}

struct Surroundings {
  Network network;
  Progress progress = Progress::foreground;
};

std::vector<Surroundings> all_surroundings() {
  std::vector<Surroundings> all;
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

void expect_no_run_beats_it(const Algorithm& row, const Problem& problem,
                            const Surroundings& surroundings, int pattern,
                            const Placement& placement = {}) {
  SimulationOptions options;
  options.network = surroundings.network;
  options.placement = placement;
  for (const Seconds spread : {1e-4, 1e-2}) {
    options.arrivals = testing::arrival_pattern(pattern, problem.ranks, spread, 7);
    const Parameters parameters = {{"progress", static_cast<Count>(surroundings.progress)}};
    const Plan plan = make_plan(row, problem, parameters,
                                {options.arrivals, options.network, false, false, placement});
    const Seconds last = *std::max_element(options.arrivals.begin(), options.arrivals.end());
    const Seconds took = simulate(build_programs(plan), options).last_exit() - last;
    EXPECT_GE(took + 1e-11,
              least_after_last(problem, options.arrivals, options.network, surroundings.progress))
        << to_text(plan) << to_string(surroundings.network) << "\narrivals " << pattern;
  }
}

class BoundOf : public ::testing::TestWithParam<Collective> {};

TEST_P(BoundOf, NoSimulatedRunBeatsIt) {
  for (const Algorithm& row : registry(GetParam())) {
    if (row.kind != Kind::program) continue;
    for (const Rank ranks : {2, 3, 8, 13}) {
      Problem problem{row.collective, ranks, 1 << 14};
      if (rooted(row.collective)) problem.root = ranks / 2;
      for (const Surroundings& surroundings : all_surroundings()) {
        for (int pattern = 0; pattern < testing::kArrivalPatterns; ++pattern) {
          expect_no_run_beats_it(row, problem, surroundings, pattern);
        }
      }
    }
  }
}

/// Ranks that all share one node, by its memory or by messages.
TEST_P(BoundOf, NoSimulatedRunOnOneNodeBeatsIt) {
  Random random(1);
  const auto draw = [&](std::initializer_list<Seconds> of) {
    return of.begin()[random.below(of.size())];
  };
  for (const Algorithm& row : registry(GetParam())) {
    if (row.kind != Kind::program) continue;
    for (const Rank ranks : {2, 3, 8}) {
      Problem problem{row.collective, ranks, 1 << 14};
      if (rooted(row.collective)) problem.root = ranks / 2;
      for (Surroundings surroundings : all_surroundings()) {
        surroundings.network.per_node = ranks;
        surroundings.network.gamma = draw({0, 0.1e-9, 1e-9});
        surroundings.network.local_alpha = draw({0, 1e-6, 1e-4});
        surroundings.network.local_beta = draw({0.01e-9, 0.1e-9, 1e-9});
        const auto pattern = static_cast<int>(random.below(testing::kArrivalPatterns));
        expect_no_run_beats_it(row, problem, surroundings, pattern,
                               consecutive_placement(ranks, ranks));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, BoundOf, ::testing::ValuesIn(all_collectives()),
                         [](const auto& test) { return std::string(to_string(test.param)); });

// --- The others than all-reduce: alpha 1, a byte 1, parts of 2 bytes on 4 ranks ---

constexpr Network kSteps{.alpha = 1, .beta = 1, .gamma = 0, .eager_limit = 0};

Seconds least_of(Collective collective, const std::vector<Seconds>& arrivals, Rank root = 0,
                 Progress progress = Progress::foreground) {
  const Problem problem{collective, 4, 8, 1, root};
  return least_after_last(problem, arrivals, kSteps, progress);
}

TEST(Bound, OfAllgather) {
  EXPECT_DOUBLE_EQ(least_of(Collective::allgather, {0, 0, 0, 0}), 1 + 6);
  // The late rank's part needs two rounds, and it takes in three parts itself,
  EXPECT_DOUBLE_EQ(least_of(Collective::allgather, {100, 0, 0, 0}), 1 + 6);
  // unless it did so before.
  EXPECT_DOUBLE_EQ(least_of(Collective::allgather, {100, 0, 0, 0}, 0, Progress::background), 4);
  EXPECT_DOUBLE_EQ(least_of(Collective::allgather, {100, 100, 0, 0}, 0, Progress::background), 5);
}

TEST(Bound, OfBroadcast) {
  EXPECT_DOUBLE_EQ(least_of(Collective::bcast, {0, 0, 0, 0}), 8 + 2);
  EXPECT_DOUBLE_EQ(least_of(Collective::bcast, {0, 0, 0, 100}), 8 + 1);
  EXPECT_DOUBLE_EQ(least_of(Collective::bcast, {0, 0, 0, 100}, 0, Progress::background), 0);
  EXPECT_DOUBLE_EQ(least_of(Collective::bcast, {0, 0, 0, 100}, 3, Progress::background), 8 + 2);
}

TEST(Bound, OfGatherAndScatter) {
  EXPECT_DOUBLE_EQ(least_of(Collective::gather, {0, 0, 0, 0}), 1 + 6);
  EXPECT_DOUBLE_EQ(least_of(Collective::gather, {0, 0, 100, 0}), 1 + 2);
  EXPECT_DOUBLE_EQ(least_of(Collective::gather, {100, 0, 0, 0}), 1 + 6);
  EXPECT_DOUBLE_EQ(least_of(Collective::gather, {100, 0, 0, 0}, 0, Progress::background), 0);
  EXPECT_DOUBLE_EQ(least_of(Collective::scatter, {0, 0, 0, 0}), 1 + 6);
  EXPECT_DOUBLE_EQ(least_of(Collective::scatter, {0, 0, 100, 0}), 1 + 2);
  EXPECT_DOUBLE_EQ(least_of(Collective::scatter, {0, 0, 100, 0}, 0, Progress::background), 0);
  EXPECT_DOUBLE_EQ(least_of(Collective::scatter, {0, 0, 100, 0}, 2), 1 + 6);
}

TEST(Bound, OfReduce) {
  EXPECT_DOUBLE_EQ(least_of(Collective::reduce, {0, 0, 0, 0}), 8 + 1);
  EXPECT_DOUBLE_EQ(least_of(Collective::reduce, {100, 0, 0, 0}), 8 + 1);
  EXPECT_DOUBLE_EQ(least_of(Collective::reduce, {100, 0, 0, 0}, 0, Progress::background), 0);
  // Short vectors need their rounds.
  EXPECT_DOUBLE_EQ(least_after_last({Collective::reduce, 9, 1, 1}, {}, {.alpha = 10, .beta = 1}),
                   40);
}

/// One late rank: nothing but the rounds of its own part is left.
TEST(Bound, LateDoublingMeetsIt) {
  const Rank ranks = 16;
  Network network{.alpha = 1, .beta = 0, .gamma = 0, .eager_limit = 0};
  std::vector<Seconds> arrivals(ranks, 0);
  arrivals[5] = 100;
  const Problem problem{Collective::allgather, ranks, ranks};
  const Plan plan = make_plan(find_algorithm(Collective::allgather, "late_doubling"), problem, {},
                              {arrivals, network, false, true});
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  EXPECT_DOUBLE_EQ(simulate(build_programs(plan), options).last_exit() - 100, 4);
  EXPECT_DOUBLE_EQ(least_after_last(problem, arrivals, network, Progress::background), 4);
}

/// The bound for schedules that cut the vector into equal parts, one in each message, on one port:
/// the last rank's blocks need blocks - 1 + ceil(log2 P) rounds to reach all ranks.
Seconds least_in_blocks(const Problem& problem, Count blocks, const Network& network) {
  const double rounds = rounds_to_all(static_cast<std::size_t>(problem.ranks), 1);
  const Seconds block = network.alpha + network.beta * static_cast<double>(problem.bytes()) /
                                            static_cast<double>(blocks);
  return (static_cast<double>(blocks - 1) + rounds) * block;
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
