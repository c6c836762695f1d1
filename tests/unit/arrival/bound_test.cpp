#include "arrival/bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "reference/reference.hpp"

namespace latecomer {
namespace {

constexpr Network kUnit{.alpha = 0, .beta = 1, .gamma = 0};

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
  EXPECT_DOUBLE_EQ(least(std::vector<Seconds>(9, 0.0), {.alpha = 100, .beta = 1}), 400);
}

TEST(Bound, NoSimulatedRunBeatsIt) {
  for (const Algorithm& row : registry()) {
    if (row.kind != Kind::program) continue;
    for (const Rank ranks : {2, 3, 5, 8, 13, 16}) {
      for (int pattern = 0; pattern < testing::kArrivalPatterns; ++pattern) {
        SimulationOptions options;
        options.network.eager_limit = 0;  // no rank receives before it arrives
        const Problem problem{row.collective, ranks, 1 << 16};
        for (const Seconds spread : {1e-4, 1e-3, 1e-2}) {
          options.arrivals = testing::arrival_pattern(pattern, ranks, spread, 7);
          const Plan plan = make_plan(row, problem, {}, {options.arrivals, options.network});
          const Seconds last = *std::max_element(options.arrivals.begin(), options.arrivals.end());
          const Seconds took = simulate(build_programs(plan), options).last_exit() - last;
          EXPECT_GE(took * (1 + 1e-9), least_after_last(problem, options.arrivals, options.network))
              << to_text(plan) << "arrivals " << pattern;
        }
      }
    }
  }
}

}  // namespace
}  // namespace latecomer
