// Rows that use the memory of nodes, on all kinds of placements: right results, no rank stuck, and
// programs that the verifier accepts.
#include <gtest/gtest.h>

#include <numeric>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "reference/sweeps.hpp"
#include "schedule/program.hpp"
#include "simulate/elements.hpp"
#include "simulate/simulate.hpp"
#include "telemetry/watch.hpp"
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

struct CallOnNodes {
  Problem problem;
  Placement placement;
  std::vector<Seconds> arrivals;
  Parameters parameters;
};

void check_case(const Algorithm& row, const CallOnNodes& given, bool verified) {
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

/// Some rows have several drivers a node, or cells.
void give_ways(const Algorithm& row, Random& random, CallOnNodes& given) {
  for (const Parameter& parameter : row.parameters) {
    if (parameter.name == "lanes") given.parameters["lanes"] = 1 + random.next() % 5;
    if (parameter.name == "cells") given.parameters["cells"] = random.next() % 2;
  }
}

class OnNodes : public ::testing::TestWithParam<Rank> {};

TEST_P(OnNodes, EveryRowIsRightOnEveryPlacement) {
  const Rank ranks = GetParam();
  Random random(static_cast<std::uint64_t>(ranks));
  for (const Collective collective : all_collectives()) {
    for (const Algorithm& row : registry(collective)) {
      if (row.name != "nodes") continue;
      for (const Placement& placement : placements(ranks)) {
        for (const Count count :
             {Count{0}, Count{1}, Count{ranks} - 1, Count{ranks} + 1, Count{5000}}) {
          for (int kind = 0; kind < 3; ++kind) {
            for (const bool in_place : {false, true}) {
              CallOnNodes given;
              given.problem.collective = collective;
              given.problem.ranks = ranks;
              given.problem.count = count;
              given.problem.element_bytes = 8;
              given.problem.in_place = in_place;
              given.problem.root =
                  rooted(collective)
                      ? static_cast<Rank>(random.next() % static_cast<std::uint64_t>(ranks))
                      : 0;
              given.problem.commutative = !combines(collective) || random.next() % 4 != 0;
              given.placement = placement;
              given.arrivals = random_arrivals(ranks, random, kind);
              give_ways(row, random, given);
              check_case(row, given, count > 0 && count < 100);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

std::vector<Rank> rank_counts() {
  if (testing::kSanitized) return {1, 2, 3, 4, 5};
  return {1, 2, 3, 4, 5, 7, 8, 12};
}

INSTANTIATE_TEST_SUITE_P(Ranks, OnNodes, ::testing::ValuesIn(rank_counts()));

TEST(OnNodes, EveryAlgorithmAmongThemIsRight) {
  for (const Collective collective : all_collectives()) {
    for (const Algorithm& row : registry(collective)) {
      if (row.name != "nodes") continue;
      const auto& names = row.parameters.front().choices;
      for (std::size_t among = 0; among < names.size(); ++among) {
        for (const Rank ranks : {6, 10}) {
          SCOPED_TRACE(std::string(to_string(collective)) + " among " + std::string(names[among]));
          CallOnNodes given;
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

// The vectors of a node lie side by side in its buffer, which holds fewer elements of each.
TEST(OnNodes, LongVectorsInCellsAreRight) {
  for (const Collective collective : {Collective::allreduce, Collective::reduce}) {
    for (const Rank per_node : {2, 3, 5}) {  // 3: nodes of different sizes; 5: one node
      for (const bool commutative : {false, true}) {
        SCOPED_TRACE(to_string(collective));
        CallOnNodes given;
        given.problem.collective = collective;
        given.problem.ranks = 5;
        given.problem.element_bytes = Count{1} << 20;
        given.problem.count = 30;
        given.problem.commutative = commutative;
        given.problem.root = rooted(collective) ? 3 : 0;
        given.placement = consecutive_placement(5, per_node);
        given.arrivals = {0, 1e-3, 0, 0, 0};
        given.parameters["cells"] = 1;
        check_case(find_algorithm(collective, "nodes"), given, true);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Vectors that all ranks share as a whole go in waves; those of parts do without the node's buffer.
TEST(OnNodes, VectorsLongerThanTheBufferAreRight) {
  Random random(4);
  for (const Collective collective : all_collectives()) {
    for (const Rank per_node : {2, 3, 4}) {  // 3: one rank has a node of its own
      for (const Rank late : {0, 2}) {
        SCOPED_TRACE(to_string(collective));
        CallOnNodes given;
        given.problem.collective = collective;
        given.problem.ranks = 4;
        given.problem.element_bytes = Count{1} << 20;  // so that few elements are many bytes
        given.problem.count = 70;
        given.problem.root = rooted(collective) ? 2 : 0;
        given.placement = consecutive_placement(4, per_node);
        given.arrivals.assign(4, 0);
        given.arrivals[static_cast<std::size_t>(late)] = 1e-3;
        give_ways(find_algorithm(collective, "nodes"), random, given);
        check_case(find_algorithm(collective, "nodes"), given, true);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A process that combines more slowly than the link brings gets help from its mates, but from none
// that comes late; a slow link, a short vector and one node have one lane.
TEST(OnNodes, LanesAreAsManyAsItTakes) {
  const auto plan = [](Count bytes, Rank per_node, Seconds late, Seconds beta) {
    Problem problem;
    problem.ranks = 12;
    problem.count = bytes / 4;
    Knowledge knowledge;
    knowledge.network = {.alpha = 3e-6, .beta = beta, .gamma = 0.1e-9};
    knowledge.placement = consecutive_placement(12, per_node);
    if (late > 0) knowledge.arrivals = {late, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    return make_plan(find_algorithm(Collective::allreduce, "nodes"), problem,
                     late > 0 ? Parameters{{"lanes", 3}} : Parameters{}, knowledge);
  };
  const auto lanes = [&](Count bytes, Rank per_node, Seconds beta) {
    return plan(bytes, per_node, 0, beta).parameters.at("lanes");
  };
  EXPECT_EQ(lanes(16 << 20, 6, 0.08e-9), 4);
  EXPECT_EQ(lanes(16 << 20, 6, 0.2e-9), 2);
  EXPECT_EQ(lanes(16 << 20, 3, 0.08e-9), 3);
  EXPECT_EQ(lanes(16 << 20, 6, 8e-9), 1);
  EXPECT_EQ(lanes(64 << 10, 6, 0.08e-9), 1);
  EXPECT_EQ(lanes(1 << 20, 6, 0.08e-9), 2);
  EXPECT_EQ(lanes(2 << 20, 6, 0.08e-9), 4);
  EXPECT_EQ(lanes(16 << 20, 12, 0.08e-9), 1);
  EXPECT_EQ(plan(16 << 20, 3, 1, 0.08e-9).table,
            (std::vector<Count>{1, 3, 6, 9, 2, 4, 7, 10, 1, 5, 8, 11}));
}

// The parts of the ranks of a node lie together in its buffer, however long they are and wherever
// they lie in the vector.
TEST(OnNodes, UnequalPartsAreRight) {
  Random random(3);
  for (const Collective collective : all_collectives()) {
    if (!parted(collective)) continue;
    for (const Placement& placement : placements(7)) {
      for (int kind = 0; kind < 3; ++kind) {
        SCOPED_TRACE(to_string(collective));
        CallOnNodes given;
        given.problem.collective = collective;
        given.problem.ranks = 7;
        for (Rank rank = 0; rank < 7; ++rank) {
          given.problem.parts.push_back(static_cast<Count>(random.next() % 3) * 10);
        }
        given.problem.count =
            std::accumulate(given.problem.parts.begin(), given.problem.parts.end(), Count{0});
        given.problem.root = rooted(collective) ? static_cast<Rank>(random.next() % 7) : 0;
        given.problem.in_place = random.next() % 2 == 0;
        given.placement = placement;
        given.arrivals = random_arrivals(7, random, kind);
        check_case(find_algorithm(collective, "nodes"), given, true);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// The text of the error with which a plan is refused.
std::string refusal(const Plan& plan) {
  try {
    check_plan(plan);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OnNodes, PlansThatNoRowMakesAreRefused) {
  const auto made = [](Collective collective) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = 4;
    problem.count = 100;
    Knowledge knowledge;
    knowledge.placement = consecutive_placement(4, 2);
    return make_plan(find_algorithm(collective, "nodes"), problem, {}, knowledge);
  };
  Plan plan = made(Collective::scatter);
  EXPECT_EQ(refusal(plan), "");
  plan.table[0] = 1;
  EXPECT_NE(refusal(plan).find("the root for its node"), std::string::npos);
  plan.table[0] = 2;
  EXPECT_NE(refusal(plan).find("of each node one of its ranks"), std::string::npos);
  plan.table.pop_back();
  EXPECT_NE(refusal(plan).find("one rank a node and lane"), std::string::npos);
  plan = made(Collective::gather);
  plan.inner.front().problem.parts = {20, 80};
  EXPECT_NE(refusal(plan).find("a program of 2 places for 100 elements"), std::string::npos);
  plan.inner.clear();
  EXPECT_NE(refusal(plan).find("inner plans"), std::string::npos);
  plan = made(Collective::bcast);
  plan.placement = {0, 1, 2, 3};
  EXPECT_NE(refusal(plan).find("a problem that nodes take"), std::string::npos);
}

// With telemetry all ranks know all arrivals after the call.
TEST(OnNodes, AllRanksLearnAllArrivals) {
  Random random(5);
  for (const Collective collective : all_collectives()) {
    for (const Placement& placement : placements(6)) {
      Problem problem;
      problem.collective = collective;
      problem.ranks = 6;
      problem.count = 600;
      Knowledge knowledge;
      knowledge.placement = placement;
      knowledge.telemetry = true;
      const Algorithm& row = find_algorithm(collective, "nodes");
      CallOnNodes ways;
      give_ways(row, random, ways);
      const Plan plan = make_plan(row, problem, ways.parameters, knowledge);
      SimulationOptions options;
      options.arrivals = {1e-3, 2e-3, 5e-3, 4e-3, 3e-3, 6e-3};
      std::vector<ArrivalStamps> stamps(6, ArrivalStamps(6));
      for (Rank rank = 0; rank < 6; ++rank) {
        ArrivalStamps& own = stamps[static_cast<std::size_t>(rank)];
        own.begin();
        own.arrive(rank, {options.arrivals[static_cast<std::size_t>(rank)], 0, 0});
        options.piggybacks.push_back(&own);
      }
      ASSERT_EQ(simulate(build_programs(plan), options).failure, "");
      for (const ArrivalStamps& each : stamps) {
        for (Rank rank = 0; rank < 6; ++rank) {
          ASSERT_EQ(each.all()[static_cast<std::size_t>(rank)].arrival,
                    options.arrivals[static_cast<std::size_t>(rank)])
              << to_string(collective) << '\n'
              << to_text(plan);
        }
      }
    }
  }
}

}  // namespace
}  // namespace latecomer
