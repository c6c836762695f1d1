#include <gtest/gtest.h>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "simulate/elements.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

constexpr Count kCount = 7;

Problem problem_of(Rank ranks, bool commutative) {
  return {Collective::allreduce, ranks, kCount, 4, 0, commutative, false};
}

std::vector<Program> programs_of(Rank ranks, bool commutative,
                                 std::string_view name = "recursive_doubling") {
  const Problem problem = problem_of(ranks, commutative);
  const Algorithm& algorithm = find_algorithm(problem.collective, name);
  return build_programs(make_plan(algorithm, problem, {}, {}));
}

Count wrong_after(const std::vector<Program>& programs) {
  const Program& first = programs.front();
  CheckedMemory checked(problem_of(first.ranks, first.commutative), programs, 1);
  SimulationOptions options;
  options.memory = checked.memory();
  EXPECT_EQ(simulate(programs, options).failure, "");
  return checked.wrong();
}

TEST(CheckedMemory, ARightResultHasNoWrongElements) {
  for (const bool commutative : {true, false}) {
    for (const Rank ranks : {1, 2, 5, 8}) {
      EXPECT_EQ(wrong_after(programs_of(ranks, commutative)), 0) << ranks << commutative;
    }
  }
}

TEST(CheckedMemory, BeforeTheSimulationEverythingIsWrong) {
  const std::vector<Program> programs = programs_of(4, true);
  EXPECT_EQ(CheckedMemory(problem_of(4, true), programs, 1).wrong(), 4 * kCount);
}

TEST(CheckedMemory, OperandsThatChangePlacesAreFoundWhereOrderMatters) {
  for (const bool commutative : {true, false}) {
    std::vector<Program> programs = programs_of(4, true, "ring");
    for (Program& program : programs) program.commutative = commutative;
    EXPECT_EQ(wrong_after(programs) > 0, !commutative);
  }
}

}  // namespace
}  // namespace latecomer
