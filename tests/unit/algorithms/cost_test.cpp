// Each registry row's cost against its programs on virtual networks where one thing takes time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/plans.hpp"
#include "reference/reference.hpp"

namespace latecomer {
namespace {

/// Seconds until the last rank leaves. Every message waits for its receiver, so that transfers come
/// in the order of the program.
Seconds simulated(const std::vector<Program>& programs, Network network) {
  SimulationOptions options;
  network.eager_limit = 0;
  options.network = network;
  options.element_bytes = 1;
  return simulate(programs, options).last_exit();
}

/// The components of the programs' time: start-ups, bytes on links, combining beside transfers, and
/// exchanges beside other transfers.
Cost counted(const std::vector<Program>& programs) {
  constexpr Seconds kByte = 1e-3;
  constexpr Seconds kLittle = 1e-9;
  const Seconds sent = simulated(programs, {.alpha = 0, .beta = kByte, .gamma = 0});
  const auto more = [&](Network network, Seconds unit) {
    return std::llround((simulated(programs, network) - sent) / unit);
  };
  return {std::llround(simulated(programs, {.alpha = 1, .beta = 0, .gamma = 0})),
          std::llround(sent / kByte), more({.alpha = 0, .beta = kByte, .gamma = kLittle}, kLittle),
          more({.alpha = 0, .beta = kByte, .gamma = 0, .exchange = 1 + 1e-6}, kByte * 1e-6)};
}

/// "bcast binomial:segments=4" and the like.
struct Case {
  explicit Case(const std::string& text)
      : collective(parse_collective(text.substr(0, text.find(' ')))),
        choice(parse_choice(collective, std::string_view(text).substr(text.find(' ') + 1))) {}

  Collective collective;
  Choice choice;
};

/// `back` has no closed form: two loops, one after the other, bound it. A timetable's rounds need
/// not be waited for. In two_tree the trees' steps are an upper bound: with an odd number of
/// segments, or of ranks above and below, the last steps are not all needed.
bool bound_only(const std::string& text) {
  return text.find("back") != std::string::npos || text.find("early_owners") != std::string::npos ||
         text.find("prereduced_circulant") != std::string::npos ||
         text.find("two_tree") != std::string::npos ||
         text.find("clairvoyant") != std::string::npos;
}

class CostOf : public ::testing::TestWithParam<std::string> {};

TEST_P(CostOf, IsWhatTheProgramTakes) {
  const Case tested(GetParam());
  for (Rank ranks = 3; ranks <= 17; ++ranks) {
    // `segments` is given per rank here; the count is one that every partition divides.
    Parameters parameters = tested.choice.parameters;
    const auto segments = parameters.find("segments");
    if (segments != parameters.end()) segments->second *= ranks;
    const Problem problem{tested.collective, ranks, Count{ranks} * (ranks - 1) * 16 * 12, 1};
    const Plan plan = make_plan(*tested.choice.algorithm, problem, parameters, {});
    const Cost cost = cost_of(plan);
    const Cost found = counted(build_programs(plan));
    SCOPED_TRACE("P=" + std::to_string(ranks) + " " + plan.algorithm);
    if (bound_only(GetParam())) {
      EXPECT_GE(cost.rounds, found.rounds);
      EXPECT_GE(cost.sent, found.sent);
      continue;
    }
    EXPECT_EQ(cost.rounds, found.rounds);
    EXPECT_EQ(cost.sent, found.sent);
    EXPECT_GE(cost.combined, found.combined);
    EXPECT_LE(cost.combined, found.combined + 2 * problem.count);
    EXPECT_EQ(cost.exchanged, found.exchanged);
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

TEST(Cost, FewSegmentsAreBoundByTheirWay) {
  const Choice choice = parse_choice(Collective::allreduce, "segmented_ring:segments=1");
  const Plan plan =
      make_plan(*choice.algorithm, {Collective::allreduce, 5, 60}, choice.parameters, {});
  EXPECT_EQ(cost_of(plan).rounds, 8);
  EXPECT_EQ(counted(build_programs(plan)).rounds, 8);
}

}  // namespace
}  // namespace latecomer
