// Every registered all-reduce that is a program x every P from 1 to 17 x counts x arrivals, some
// ranks in place, with operators that are commutative by name only: all ranks get the same bits. A
// failure prints its seed.
#include <gtest/gtest.h>

#include <bit>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "engine/engine.hpp"
#include "reference/reference.hpp"
#include "reference/sweeps.hpp"

namespace latecomer {
namespace {

/// Maximum as MPI libraries compute it: of two zeros or with a NaN, one of the operands.
Element maximum(Element left, Element right) {
  return std::bit_cast<double>(left) > std::bit_cast<double>(right) ? left : right;
}

/// Neither commutes nor associates.
Element mix(Element left, Element right) {
  return std::rotl(left * 0x9e3779b97f4a7c15ULL, 23) ^ (right * 0xc2b2ae3d27d4eb4fULL + 1);
}

/// NaNs with payloads, zeros, infinities and denormals of both signs, and a few numbers.
Element awkward(Random& random) {
  const Element bits = random.next();
  const Element sign = bits & 0x8000000000000000ULL;
  switch (random.below(6)) {
    case 0:
      return sign;
    case 1:
      return sign | 0x7ff0000000000000ULL;
    case 2:
      return sign | 0x7ff8000000000000ULL | (bits & 0xffff);
    case 3:
      return sign | (bits & 0xffff);
    default:
      return sign | std::bit_cast<Element>(static_cast<double>(random.below(3)));
  }
}

/// The programs of all ranks, of which every second one has its data in place.
std::vector<Program> programs_of(Plan plan) {
  std::vector<Program> programs;
  for (Rank me = 0; me < plan.problem.ranks; ++me) {
    plan.problem.in_place = me % 2 == 1;
    programs.push_back(build_program(plan, me));
  }
  return programs;
}

/// The ranks' results of a call with awkward elements.
std::vector<Elements> results(const std::vector<Program>& programs, SimulationOptions options,
                              Memory::Operator op, Random& random) {
  std::vector<Memory> memory;
  for (const Program& program : programs) {
    Elements own(static_cast<std::size_t>(program.output_count));
    for (Element& element : own) element = awkward(random);
    memory.emplace_back(program, op);
    const Buffer place = program.in_place ? Buffer::output : Buffer::input;
    memory.back().write({place, 0, program.output_count}, own);
  }
  options.memory = &memory;
  const Simulation run = simulate(programs, options);
  EXPECT_EQ(run.failure, "");
  std::vector<Elements> outputs;
  for (const Memory& rank : memory) outputs.push_back(rank.output());
  return outputs;
}

class SameBits : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(SameBits, OnAllRanks) {
  Random random(7);
  for (Rank ranks = 1; ranks <= testing::kMaxRanks; ++ranks) {
    for (const Count count :
         {Count{1}, Count{ranks} - 1, Count{ranks}, Count{ranks} + 1, Count{99}}) {
      for (int pattern = 0; pattern < 3; ++pattern) {
        SimulationOptions options;
        const std::uint64_t seed = random.next();
        options.arrivals = testing::arrival_pattern(pattern, ranks, 1e-3, seed);
        const Problem problem{Collective::allreduce, ranks, count, 8};
        const Plan plan = make_plan(*GetParam(), problem, {}, {options.arrivals, {}});
        const std::vector<Program> programs = programs_of(plan);
        for (const auto op : {maximum, mix}) {
          const std::vector<Elements> found = results(programs, options, op, random);
          for (const Elements& output : found) {
            ASSERT_EQ(output, found.front()) << "seed " << seed << "\n" << to_text(plan);
          }
        }
      }
    }
  }
}

std::vector<const Algorithm*> rows() {
  std::vector<const Algorithm*> all;
  for (const Algorithm& row : registry(Collective::allreduce)) {
    if (row.kind == Kind::program) all.push_back(&row);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, SameBits, ::testing::ValuesIn(rows()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace latecomer
