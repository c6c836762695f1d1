// The model's choices against the best found by sweeping, on the virtual network.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/plans.hpp"
#include "reference/reference.hpp"
#include "unit/algorithms/networks.hpp"

namespace latecomer {
namespace {

constexpr double kMostExcess = 0.05;
constexpr double kHopeless = 1.2;  // by the cost, which is right within 6 %
constexpr Count kElementBytes = 8;

/// An emulated cluster, where long messages wait for their receiver.
const Network kLab{
    .alpha = 100e-6, .beta = 42e-9, .gamma = 0.15e-9, .eager_limit = 65536, .handshake = 300e-6};

Plan plan_of(const std::string& words, const Problem& problem, const Network& network) {
  const Choice choice = parse_choice(problem.collective, words);
  return make_plan(*choice.algorithm, problem, choice.parameters, {{}, network});
}

Seconds simulated(const Plan& plan, const Network& network) {
  SimulationOptions options;
  options.network = network;
  options.element_bytes = kElementBytes;
  return simulate(build_programs(plan), options).last_exit();
}

Count least_steps(Rank ranks) {
  Count steps = 0;
  for (Count reached = 1; reached < ranks; reached *= 2) ++steps;
  return steps;
}

/// Every number of steps up to twice the fewest, and more; groups; lengths of messages.
std::vector<std::string> designs(const Problem& problem) {
  const Count least = least_steps(problem.ranks);
  std::vector<Count> steps = {2 * least + 2, 4 * least, Count{2} * (problem.ranks - 1)};
  for (Count i = least; i <= 2 * least; ++i) steps.push_back(i);
  std::vector<std::string> all;
  for (const Count number : steps) {
    for (const std::string group : {"best", "cyclic", "prime"}) {
      for (const Count piece : {Count{0}, problem.count / 4 + 1, problem.count / 64 + 1}) {
        all.push_back("generalized:group=" + group + ":steps=" + std::to_string(number) +
                      ":piece=" + std::to_string(piece));
      }
    }
  }
  return all;
}

/// So many to a rank, and some numbers that its ranks do not divide.
std::vector<std::string> segmentations(const Problem& problem) {
  std::vector<std::string> all;
  for (const Count half : {1, 2, 3, 4, 6, 8, 12, 16, 32}) {
    const Count segments = std::max<Count>(1, half * problem.ranks / 2);
    all.push_back("segmented_ring:segments=" + std::to_string(segments));
  }
  return all;
}

struct Sweep {
  const char* algorithm;
  std::vector<std::string> (*others)(const Problem& problem);
};

class Choosing : public ::testing::TestWithParam<Sweep> {};

TEST_P(Choosing, CostsLittleAgainstTheBestFound) {
  for (const Network& network : {kSlow, kFast}) {
    for (const Rank ranks : {2, 3, 5, 8, 12, 17, 24}) {
      for (const Count bytes : {8, 4 << 10, 64 << 10, 1 << 20, 16 << 20}) {
        const Problem problem{.ranks = ranks,
                              .count = bytes / kElementBytes,
                              .element_bytes = kElementBytes,
                              .exact = true};
        const Plan chosen = plan_of(GetParam().algorithm, problem, network);
        const Seconds taken = simulated(chosen, network);
        for (const std::string& words : GetParam().others(problem)) {
          const Plan plan = plan_of(words, problem, network);
          if (hockney_time(problem, cost_of(plan), network) > kHopeless * taken) continue;
          const Seconds other = simulated(plan, network);
          EXPECT_LE(taken, (1 + kMostExcess) * other)
              << "P=" << ranks << ", " << bytes << " bytes, alpha " << network.alpha << ": "
              << describe_parameters(chosen) << " against " << words;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Choosing,
                         ::testing::Values(Sweep{"generalized", designs},
                                           Sweep{"segmented_ring", segmentations}),
                         [](const auto& test) { return std::string(test.param.algorithm); });

Count segments_of(Rank ranks, Count bytes, const Network& network) {
  const Problem problem{
      .ranks = ranks, .count = bytes / kElementBytes, .element_bytes = kElementBytes};
  return plan_of("segmented_ring", problem, network).parameters.at("segments");
}

TEST(SegmentedRing, IsARingWhereLongMessagesNeedNoHandshake) {
  for (const Rank ranks : {4, 16, 48}) {
    for (const Count bytes : {64 << 10, 1 << 20}) {
      EXPECT_EQ(segments_of(ranks, bytes, kSlow), ranks) << bytes << " bytes";
    }
  }
}

TEST(SegmentedRing, SendsEagerlyWhereHandshakesCost) {
  for (const Rank ranks : {4, 8, 16, 48}) {
    for (const Count bytes : {1 << 20, 4 << 20, 16 << 20}) {
      const Count segments = segments_of(ranks, bytes, kLab);
      EXPECT_LE(bytes / segments, kLab.eager_limit) << "P=" << ranks << ", " << bytes << " bytes";
    }
  }
}

TEST(SegmentedRing, StaysARingWhereEagerSegmentsWouldCostFarMore) {
  Network start = kLab;
  start.alpha = 10e-3;
  EXPECT_EQ(segments_of(16, 4 << 20, start), 16);
}

}  // namespace
}  // namespace latecomer
