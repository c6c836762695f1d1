// The default number of segments against a sweep, on the virtual network.
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/plans.hpp"
#include "reference/reference.hpp"

namespace latecomer {
namespace {

constexpr double kMax = 1.05;
constexpr double kMean = 1.025;
constexpr Count kMaxBytes = 256 << 20;  // of all ranks: larger ones take seconds

Seconds simulated(const Algorithm& row, const Problem& problem, const Parameters& parameters,
                  const Network& network, Count* segments = nullptr) {
  const Plan plan = make_plan(row, problem, parameters, {{}, network});
  if (segments != nullptr) *segments = plan.parameters.at("segments");
  SimulationOptions options;
  options.network = network;
  options.element_bytes = problem.element_bytes;
  return simulate(build_programs(plan), options).last_exit();
}

class DefaultSegments : public ::testing::TestWithParam<std::tuple<std::string, Rank>> {};

TEST_P(DefaultSegments, AreCloseToTheBestOfASweep) {
  const auto& [name, ranks] = GetParam();
  const Algorithm& row = find_algorithm(Collective::allreduce, name);
  double sum = 0;
  int cells = 0;
  for (const Network& network : {Network{.alpha = 50e-6, .beta = 8e-9, .gamma = 0.1e-9},
                                 Network{.alpha = 3e-6, .beta = 0.286e-9, .gamma = 0.05e-9}}) {
    for (const Count bytes : {64, 8 << 10, 128 << 10, 1 << 20, 8 << 20}) {
      if (bytes > kMaxBytes / ranks) continue;
      const Problem problem{Collective::allreduce, ranks, bytes / 4, 4};
      Count chosen = 0;
      const Seconds by_default = simulated(row, problem, {}, network, &chosen);
      Seconds best = by_default;
      Count best_segments = chosen;
      for (double factor = 0.35; factor < 3; factor *= std::sqrt(2.0)) {
        const auto segments =
            std::max<Count>(1, std::llround(factor * static_cast<double>(chosen)));
        const Seconds time = simulated(row, problem, {{"segments", segments}}, network);
        if (time >= best) continue;
        best = time;
        best_segments = segments;
      }
      sum += by_default / best;
      ++cells;
      EXPECT_LE(by_default, kMax * best)
          << bytes << " bytes, alpha " << network.alpha << ": " << chosen << " segments, but "
          << best_segments << " are better";
    }
  }
  EXPECT_LE(sum / cells, kMean);
}

INSTANTIATE_TEST_SUITE_P(Trees, DefaultSegments,
                         ::testing::Combine(::testing::Values("dual_root", "pipelined_tree",
                                                              "two_tree", "linear_tree"),
                                            ::testing::Values(2, 3, 4, 7, 16, 30, 48, 127)));

}  // namespace
}  // namespace latecomer
