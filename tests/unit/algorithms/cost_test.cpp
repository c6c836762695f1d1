// Each registry row's cost against the rounds, bytes and combines counted in its programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "executors/make_executor.hpp"
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

/// "bcast binomial:segments=4" and the like.
struct Case {
  explicit Case(const std::string& text)
      : collective(parse_collective(text.substr(0, text.find(' ')))),
        choice(parse_choice(collective, std::string_view(text).substr(text.find(' ') + 1))) {}

  Collective collective;
  Choice choice;
};

/// How many rounds may be off. In two_tree the trees' steps are an upper bound: with an odd number
/// of segments, or of ranks above and below, the last steps are not all needed.
Count near(const Case& tested) { return tested.choice.algorithm->name == "two_tree" ? 2 : 0; }

/// `back` has no closed form: two loops, one after the other, bound it. A timetable's rounds need
/// not be waited for.
bool bound_only(const std::string& text) {
  return text.find("back") != std::string::npos || text.find("early_owners") != std::string::npos;
}

class CostOf : public ::testing::TestWithParam<std::string> {};

TEST_P(CostOf, EqualsTheCountedProgram) {
  const Case tested(GetParam());
  for (Rank ranks = 1; ranks <= 17; ++ranks) {
    // `segments` is given per rank here; the count is one that every partition divides.
    Parameters parameters = tested.choice.parameters;
    const auto segments = parameters.find("segments");
    if (segments != parameters.end()) segments->second *= ranks;
    const Problem problem{tested.collective, ranks, Count{ranks} * 16 * 12};
    const Plan plan = make_plan(*tested.choice.algorithm, problem, parameters, {});
    const Cost cost = cost_of(plan);
    const auto programs = build_programs(plan);
    const Counted counted = busiest(programs);
    EXPECT_EQ(cost.sent, counted.sent) << "P=" << ranks;
    EXPECT_EQ(cost.combined, counted.combined) << "P=" << ranks;
    const Count rounds = counted_rounds(programs);
    if (near(tested) > 0) {
      EXPECT_LE(std::abs(cost.rounds - rounds), near(tested))
          << "P=" << ranks << ": " << cost.rounds << " instead of " << rounds;
    } else if (bound_only(GetParam())) {
      EXPECT_GE(cost.rounds, rounds) << "P=" << ranks;
    } else {
      EXPECT_EQ(cost.rounds, rounds) << "P=" << ranks;
    }
  }
}

/// Beside the rows themselves.
const std::vector<std::string> kWithParameters = {
    "allgather sorted_gather_bcast:bcast=binomial",
    "allgather sorted_gather_bcast:bcast=scatter_ring",
    "allreduce early_owners:blocks=7",
    "allreduce generalized:group=cyclic:steps=99",
    "allreduce generalized:group=prime:rounding=any:piece=48",
    "allreduce generalized:steps=1:rounding=any:piece=0",
    "allreduce linear_tree:segments=3:override=back",
    "allreduce prereduced_ring:segments=6",
    "allreduce segmented_ring:segments=12",
    "allreduce two_tree:segments=6",
    "bcast scatter_allgather:allgather=doubling",
};

/// Every program of the registry; those that are segmented with one segment a rank, and with four.
std::vector<std::string> compared() {
  std::vector<std::string> all = kWithParameters;
  for (const Algorithm& row : registry()) {
    if (row.kind != Kind::program) continue;
    const std::string text = std::string(to_string(row.collective)) + ' ' + std::string(row.name);
    const bool segmented = std::ranges::any_of(
        row.parameters, [](const Parameter& each) { return each.name == "segments"; });
    if (!segmented) {
      all.push_back(text);
      continue;
    }
    all.push_back(text + ":segments=1");
    all.push_back(text + ":segments=4");
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, CostOf, ::testing::ValuesIn(compared()));

/// Messages and combines in vectors, by the rank that has most of them.
Counted busiest_traced(const Plan& plan) {
  SimulationOptions options;
  options.network = {.alpha = 1e-9, .beta = 1e-3, .gamma = 0, .eager_limit = 0};
  options.trace = true;
  const Simulation result = simulate(make_executors(plan, options.network), options);
  EXPECT_EQ(result.failure, "");
  std::vector<Counted> each(static_cast<std::size_t>(plan.problem.ranks));
  Counted most;
  for (const TraceEntry& entry : result.trace) {
    Counted& rank = each[static_cast<std::size_t>(entry.from)];
    ++(entry.from == entry.to ? rank.combined : rank.sent);
    most.sent = std::max(most.sent, rank.sent);
    most.combined = std::max(most.combined, rank.combined);
  }
  return most;
}

TEST(Cost, OfAProtocolIsWhatRanksDoThatArriveTogether) {
  const Algorithm& row = find_algorithm(Collective::reduce, "local_redirect");
  for (Rank ranks = 2; ranks <= 17; ++ranks) {
    const Plan plan = make_plan(row, {Collective::reduce, ranks, 100}, {}, {});
    const Counted counted = busiest_traced(plan);
    EXPECT_EQ(cost_of(plan).sent, 100 * counted.sent) << "P=" << ranks;
    EXPECT_EQ(cost_of(plan).combined, 100 * counted.combined) << "P=" << ranks;
  }
}

TEST(Cost, OfAnArrivalBroadcastIsThatOfAChain) {
  for (const char* const name : {"arrival_b", "arrival_nb"}) {
    const Algorithm& row = find_algorithm(Collective::bcast, name);
    for (Rank ranks = 2; ranks <= 17; ++ranks) {
      const Plan plan = make_plan(row, {Collective::bcast, ranks, 100}, {{"segments", 4}}, {});
      EXPECT_EQ(cost_of(plan).sent, 25 * busiest_traced(plan).sent) << name << ", P=" << ranks;
    }
  }
}

TEST(Cost, FewSegmentsAreBoundByTheirWay) {
  const Choice choice = parse_choice(Collective::allreduce, "segmented_ring:segments=1");
  const Plan plan =
      make_plan(*choice.algorithm, {Collective::allreduce, 5, 60}, choice.parameters, {});
  EXPECT_EQ(cost_of(plan).rounds, 8);
  EXPECT_EQ(counted_rounds(build_programs(plan)), 8);
}

}  // namespace
}  // namespace latecomer
