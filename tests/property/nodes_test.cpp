// Rows that use the memory of nodes, on all kinds of placements: right results, no rank stuck, and
// programs that the verifier accepts.
#include <gtest/gtest.h>

#include <numeric>

#include "algorithms/registry.hpp"
#include "base/random.hpp"
#include "executors/make_executor.hpp"
#include "schedule/program.hpp"
#include "simulate/checked.hpp"
#include "simulate/simulate.hpp"
#include "telemetry/arrival_stamps.hpp"
#include "verify/verify.hpp"

namespace latecomer {
namespace {

/// Nodes of equal size, one node, nodes of different sizes, and ranks dealt out in turn.
std::vector<Placement> placements(Rank ranks) {
  std::vector<Placement> all;
  for (const Rank per_node : {2, 3, 4}) {
    if (per_node < ranks) all.push_back(consecutive_placement(ranks, per_node));
  }
  all.emplace_back(static_cast<std::size_t>(ranks), 0);
  Placement dealt, uneven;
  for (Rank rank = 0; rank < ranks; ++rank) {
    dealt.push_back(rank % std::max<Rank>(1, ranks / 2));
    uneven.push_back(rank == 0 ? 0 : 1);
  }
  all.push_back(numbered(dealt));
  all.push_back(numbered(uneven));
  return all;
}

std::vector<Seconds> random_arrivals(Rank ranks, Random& random, int kind) {
  std::vector<Seconds> arrivals(static_cast<std::size_t>(ranks), 0);
  if (kind == 1) arrivals[random.next() % arrivals.size()] = 1e-3;
  if (kind == 2) {
    for (Seconds& arrival : arrivals) arrival = 2e-3 * random.uniform();
  }
  return arrivals;
}

struct Case {
  Problem problem;
  Placement placement;
  std::vector<Seconds> arrivals;
  Parameters parameters;
};

void check_case(const Algorithm& row, const Case& given, bool verified) {
  Knowledge knowledge;
  knowledge.arrivals = given.arrivals;
  knowledge.placement = given.placement;
  const Plan plan = make_plan(row, given.problem, given.parameters, knowledge);
  ASSERT_EQ(parse_plan(to_text(plan)), plan);
  check_plan(plan);
  const auto programs = build_programs(plan);
  if (verified) {
    const auto found = verify(given.problem, programs);
    ASSERT_FALSE(found) << found->rule << ": " << found->text << '\n' << to_text(plan);
  }
  CheckedMemory memory(given.problem, programs, 7);
  SimulationOptions options;
  options.arrivals = given.arrivals;
  options.network.memory = 0.01e-9;
  options.memory = memory.memory();
  const Simulation result = simulate(programs, options);
  ASSERT_EQ(result.failure, "") << to_text(plan);
  ASSERT_EQ(memory.wrong(), 0) << to_text(plan);
}

class OnNodes : public testing::TestWithParam<Rank> {};

TEST_P(OnNodes, EveryRowIsRightOnEveryPlacement) {
  const Rank ranks = GetParam();
  Random random(static_cast<std::uint64_t>(ranks));
  for (const Collective collective : all_collectives()) {
    for (const Algorithm& row : registry(collective)) {
      if (row.name != "nodes") continue;
      for (const Placement& placement : placements(ranks)) {
        for (const Count count : {Count{0}, Count{1}, Count{ranks} - 1, Count{ranks} + 1, Count{5000}}) {
          for (int kind = 0; kind < 3; ++kind) {
            for (const bool in_place : {false, true}) {
              Case given;
              given.problem.collective = collective;
              given.problem.ranks = ranks;
              given.problem.count = count;
              given.problem.element_bytes = 8;
              given.problem.in_place = in_place;
              given.problem.root = rooted(collective) ? static_cast<Rank>(random.next() % static_cast<std::uint64_t>(ranks)) : 0;
              given.problem.commutative = !combines(collective) || random.next() % 4 != 0;
              given.placement = placement;
              given.arrivals = random_arrivals(ranks, random, kind);
              check_case(row, given, count > 0 && count < 100);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Ranks, OnNodes, testing::Values(1, 2, 3, 4, 5, 7, 8, 12));

TEST(OnNodes, EveryAlgorithmAmongThemIsRight) {
  for (const Collective collective : all_collectives()) {
    for (const Algorithm& row : registry(collective)) {
      if (row.name != "nodes") continue;
      const auto& names = row.parameters.front().choices;
      for (std::size_t among = 0; among < names.size(); ++among) {
        for (const Rank ranks : {6, 10}) {
          SCOPED_TRACE(std::string(to_string(collective)) + " among " + std::string(names[among]));
          Case given;
          given.problem.collective = collective;
          given.problem.ranks = ranks;
          given.problem.count = 3000;
          given.placement = consecutive_placement(ranks, 2);
          given.arrivals.assign(static_cast<std::size_t>(ranks), 0);
          given.arrivals[1] = 1e-3;
          given.parameters["among"] = static_cast<Count>(among);
          check_case(row, given, true);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(OnNodes, VectorsLongerThanTheBufferGoInWaves) {
  for (const Rank per_node : {2, 4}) {
    Case given;
    given.problem.ranks = 4;
    given.problem.element_bytes = Count{1} << 20;  // so that few elements are many bytes
    given.problem.count = 70;
    given.placement = consecutive_placement(4, per_node);
    check_case(find_algorithm(Collective::allreduce, "nodes"), given, true);
  }
}

}  // namespace
}  // namespace latecomer
