// Each registry row's cost against the rounds, bytes and combines counted in its programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/reference.hpp"

namespace latecomer {
namespace {

struct Counted {
  Count sent = 0;
  Count combined = 0;
};

Counted busiest(const std::vector<Program>& programs) {
  Counted most;
  for (const Program& program : programs) {
    Counted mine;
    for (const Operation& op : program.operations) {
      if (op.kind == OpKind::send) mine.sent += op.source.count;
      if (op.kind == OpKind::combine) mine.combined += op.source.count;
    }
    most.sent = std::max(most.sent, mine.sent);
    most.combined = std::max(most.combined, mine.combined);
  }
  return most;
}

/// Rounds: the time when a transfer takes 1 and all else nothing.
Count counted_rounds(const std::vector<Program>& programs) {
  SimulationOptions options;
  // Every message waits for its receiver, so that rounds come in the order of the program.
  options.network = {.alpha = 1, .beta = 0, .gamma = 0, .eager_limit = 0};
  return static_cast<Count>(simulate(programs, options).last_exit() + 0.5);
}

/// How many rounds may be off. In two_tree the trees' steps are an upper bound: with an odd number
/// of segments, or of ranks above and below, the last steps are not all needed.
Count near(const std::string& algorithm) { return algorithm.starts_with("two_tree") ? 2 : 0; }

class CostOf : public ::testing::TestWithParam<std::string> {};

TEST_P(CostOf, EqualsTheCountedProgram) {
  const Choice choice = parse_choice(Collective::allreduce, GetParam());
  // `back` has no closed form: two loops, one after the other, bound it.
  const bool bound_only = GetParam().find("back") != std::string::npos;
  for (Rank ranks = 1; ranks <= 17; ++ranks) {
    // `segments` is given per rank here; the count is one that every partition divides.
    Parameters parameters = choice.parameters;
    const auto segments = parameters.find("segments");
    if (segments != parameters.end()) segments->second *= ranks;
    const Problem problem{Collective::allreduce, ranks, Count{ranks} * 16 * 12};
    const Plan plan = make_plan(*choice.algorithm, problem, parameters, {});
    const Cost cost = choice.algorithm->cost(plan);
    const auto programs = build_programs(plan);
    const Counted counted = busiest(programs);
    EXPECT_EQ(cost.sent, counted.sent) << "P=" << ranks;
    EXPECT_EQ(cost.combined, counted.combined) << "P=" << ranks;
    const Count rounds = counted_rounds(programs);
    if (near(GetParam()) > 0) {
      EXPECT_LE(std::abs(cost.rounds - rounds), near(GetParam()))
          << "P=" << ranks << ": " << cost.rounds << " instead of " << rounds;
    } else if (bound_only) {
      EXPECT_GE(cost.rounds, rounds) << "P=" << ranks;
    } else {
      EXPECT_EQ(cost.rounds, rounds) << "P=" << ranks;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Registry, CostOf,
    ::testing::Values(
        "auto", "circulant", "fastest", "generalized", "generalized:group=cyclic:steps=99",
        "generalized:group=prime:rounding=any:piece=48", "generalized:steps=1:rounding=any:piece=0",
        "ring", "segmented_ring:segments=1", "segmented_ring:segments=12", "recursive_doubling",
        "rabenseifner", "linear_tree:segments=1", "linear_tree:segments=4",
        "linear_tree:segments=3:override=back", "sorted_linear_tree:segments=2", "prereduced_ring",
        "prereduced_ring:segments=6", "dual_root:segments=1", "dual_root:segments=4",
        "pipelined_tree:segments=1", "pipelined_tree:segments=4", "reduce_bcast",
        "two_tree:segments=2", "two_tree:segments=6"));

TEST(Cost, FewSegmentsAreBoundByTheirWay) {
  const Choice choice = parse_choice(Collective::allreduce, "segmented_ring:segments=1");
  const Plan plan =
      make_plan(*choice.algorithm, {Collective::allreduce, 5, 60}, choice.parameters, {});
  EXPECT_EQ(choice.algorithm->cost(plan).rounds, 8);
  EXPECT_EQ(counted_rounds(build_programs(plan)), 8);
}

TEST(Cost, EveryProgramOfTheRegistryIsCompared) {
  // The names instantiated above; a new row must be added there.
  const std::vector<std::string_view> compared = {
      "auto",           "circulant",          "dual_root",      "fastest",
      "generalized",    "linear_tree",        "pipelined_tree", "prereduced_ring",
      "rabenseifner",   "recursive_doubling", "reduce_bcast",   "ring",
      "segmented_ring", "sorted_linear_tree", "two_tree"};
  std::vector<std::string_view> known;
  for (const Algorithm& row : registry(Collective::allreduce)) {
    if (row.kind == Kind::program) known.push_back(row.name);
  }
  EXPECT_EQ(known, compared);
}

}  // namespace
}  // namespace latecomer
