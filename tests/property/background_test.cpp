// Programs that may run ahead of the arrival: before it they touch only scratch and tell nothing,
// and they save time.
#include <gtest/gtest.h>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "bounds/lower_bound.hpp"
#include "reference/reference.hpp"
#include "reference/sweeps.hpp"

namespace latecomer {
namespace {

Plan background_plan(const Algorithm& row, const Problem& problem,
                     const std::vector<Seconds>& arrivals, const Network& network) {
  Knowledge knowledge{.arrivals = arrivals, .network = network, .telemetry = true};
  knowledge.background = true;
  Parameters parameters;
  if (!row.arrival_aware) parameters["progress"] = 1;
  return make_plan(row, problem, parameters, knowledge);
}

/// Per operation: true if it waits for the arrival, directly or not.
std::vector<bool> after_arrival(const Program& program) {
  std::vector<bool> waits(program.operations.size());
  for (std::size_t i = 0; i < waits.size(); ++i) {
    waits[i] = program.operations[i].kind == OpKind::arrive;
    for (const OpIndex earlier : program.after[i]) waits[i] = waits[i] || waits[earlier];
  }
  return waits;
}

bool only_scratch(const Operation& op) {
  const auto [reads, write] = accesses(op);
  for (const Slice& slice : {reads[0], reads[1], write}) {
    if (!slice.empty() && slice.buffer != Buffer::scratch) return false;
  }
  return true;
}

class BackgroundPrograms : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(BackgroundPrograms, TouchOnlyScratchAndTellNothingBeforeTheArrival) {
  const Algorithm& row = *GetParam();
  for (Rank ranks = 2; ranks <= testing::kMaxRanks; ++ranks) {
    for (const Count count : {Count{1}, Count{ranks}, Count{1000}}) {
      Problem problem{.ranks = ranks, .count = count, .element_bytes = 4, .exact = true};
      problem.collective = row.collective;
      if (rooted(row.collective)) problem.root = ranks - 1;
      const auto arrivals = testing::arrival_pattern(2, ranks, 1e-3, 7);
      const Plan plan = background_plan(row, problem, arrivals, {});
      ASSERT_EQ(plan.progress, Progress::background);
      for (const Program& program : build_programs(plan)) {
        const std::vector<bool> waits = after_arrival(program);
        for (OpIndex i = 0; i < waits.size(); ++i) {
          if (!waits[i]) {
            ASSERT_TRUE(only_scratch(program.operations[i])) << to_text(program);
          }
        }
        // The stamp that a rank sends is its arrival.
        for (const OpIndex i : program.piggybacking) {
          const bool sends = program.operations[i].kind == OpKind::send;
          ASSERT_TRUE(waits[i] || !sends) << to_text(program);
        }
      }
    }
  }
}

std::vector<const Algorithm*> programs() {
  std::vector<const Algorithm*> all;
  for (const Algorithm& row : registry()) {
    if (row.kind == Kind::program) all.push_back(&row);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, BackgroundPrograms, ::testing::ValuesIn(programs()),
                         [](const auto& test) {
                           return std::string(to_string(test.param->collective)) + "_" +
                                  std::string(test.param->name);
                         });

/// Long messages wait for their receiver: a late one that receives before it comes is faster, and
/// no faster than the bound.
TEST(BackgroundProgress, ShortensTheTimeAfterTheLastArrival) {
  Network network{.alpha = 50e-6, .beta = 8e-9, .gamma = 0.1e-9};
  network.eager_limit = 0;
  network.handshake = 100e-6;
  const Problem problem{.ranks = 8, .count = 1 << 18, .element_bytes = 4};
  std::vector<Seconds> arrivals(8, 0.0);
  arrivals[3] = 0.1;
  const Algorithm& row = find_algorithm(Collective::allreduce, "sorted_linear_tree");
  const auto after_last = [&](Count progress) {
    const Plan plan =
        make_plan(row, problem, {{"segments", 4}, {"progress", progress}}, {arrivals, network});
    SimulationOptions options;
    options.network = network;
    options.arrivals = arrivals;
    return simulate(build_programs(plan), options).last_exit() - 0.1;
  };
  EXPECT_LT(after_last(1), 0.95 * after_last(0));
  EXPECT_GE(after_last(1), least_after_last(problem, arrivals, network, Progress::background));
}

TEST(BackgroundProgress, IsDeclaredByTheRowUnlessAskedFor) {
  const Problem problem{.ranks = 4, .count = 100, .element_bytes = 4};
  const auto progress = [&](const char* text, bool thread) {
    const Choice choice = parse_choice(Collective::allreduce, text);
    Knowledge knowledge;
    knowledge.background = thread;
    return make_plan(*choice.algorithm, problem, choice.parameters, knowledge).progress;
  };
  EXPECT_EQ(progress("sorted_linear_tree", false), Progress::foreground);
  EXPECT_EQ(progress("sorted_linear_tree", true), Progress::background);
  EXPECT_EQ(progress("sorted_linear_tree:progress=foreground", true), Progress::foreground);
  EXPECT_EQ(progress("ring", true), Progress::foreground);
  EXPECT_EQ(progress("ring:progress=background", false), Progress::background);
  EXPECT_EQ(progress("fastest:progress=background", true), Progress::background);
}

TEST(BackgroundProgress, IsToldAsAParameter) {
  const Problem problem{.ranks = 4, .count = 100, .element_bytes = 4};
  const Choice choice = parse_choice(Collective::allreduce, "ring:progress=background");
  const Plan plan = make_plan(*choice.algorithm, problem, choice.parameters, {});
  EXPECT_EQ(describe_parameters(plan), "progress=background");
  EXPECT_FALSE(plan.parameters.contains("progress"));
}

}  // namespace
}  // namespace latecomer
