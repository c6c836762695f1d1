// What planning is said to take, against what is counted: no clock is read.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/plans.hpp"
#include "patterns/powers.hpp"
#include "price/candidates.hpp"
#include "price/price.hpp"
#include "reference/rows.hpp"
#include "unit/algorithms/networks.hpp"
#include "verify/verify.hpp"

namespace latecomer {
namespace {

const Network kAsking{.alpha = 50e-6, .beta = 8e-9, .gamma = 0.1e-9, .handshake = 100e-6};

Problem problem_of(Collective collective, Rank ranks, Count bytes) {
  Count count = bytes / 4;
  if (parted(collective)) count = std::max<Count>(count, ranks);
  return {collective, ranks, count, 4};
}

class Planning : public ::testing::TestWithParam<const Algorithm*> {};

template <class Check>
void in_every_cell(const Algorithm& row, const std::vector<Rank>& numbers, Check&& check) {
  for (const Network& network : {kAsking, kFast}) {
    for (const Rank ranks : numbers) {
      for (const Count bytes : {1 << 10, 64 << 10, 4 << 20}) {
        const Problem problem = problem_of(row.collective, ranks, bytes);
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(bytes) + " bytes, " +
                     to_string(network));
        check(problem, network);
      }
    }
  }
}

std::vector<Program> some_programs(const Plan& plan) {
  std::vector<Program> programs;
  const Rank last = plan.problem.ranks - 1;
  for (const Rank rank : {Rank{0}, last / 3, last / 2, last}) {
    programs.push_back(build_program(plan, rank));
  }
  return programs;
}

std::size_t most_operations(const Plan& plan) {
  std::size_t most = 0;
  for (const Program& program : some_programs(plan)) {
    most = std::max(most, program.operations.size());
  }
  return most;
}

/// An operation takes at least 20 ns and a rank 1 ns, and what takes longer than 20 us for each of
/// both, and for each pair of few ranks, is no sane estimate.
TEST_P(Planning, CostsAsMuchAsTheCountedWork) {
  const Algorithm& row = *GetParam();
  in_every_cell(row, {2, 5, 16, 48, 100}, [&](const Problem& problem, const Network& network) {
    const Plan plan = make_plan(row, problem, {}, {{}, network});
    const std::size_t counted = row.kind == Kind::program ? most_operations(plan) : 0;
    const auto operations = static_cast<double>(counted);
    const double ranks = problem.ranks;
    const Seconds cost = planning_cost(row, problem, network);
    EXPECT_GE(cost, 20e-9 * operations + 1e-9 * ranks);
    EXPECT_LE(cost, 20e-6 * (70 + operations + ranks * ranks));
  });
}

/// Where nobody asks for a row by name.
TEST_P(Planning, OfManyRanksTakesLittleOrIsNotDone) {
  const Algorithm& row = *GetParam();
  if (row.name == "auto" || row.name == "fastest") return;  // they plan all others
  in_every_cell(row, {256, 1000, 4096}, [&](const Problem& problem, const Network& network) {
    if (!may_pay(row, problem, network)) return;
    const double levels = problem.ranks * ceil_log2(problem.ranks);
    EXPECT_LE(planning_cost(row, problem, network), 1.5e-6 * levels);
  });
}

std::size_t bytes_of(const Program& program) {
  std::size_t bytes = sizeof(Program) + program.operations.capacity() * sizeof(Operation) +
                      program.after.capacity() * sizeof(std::vector<OpIndex>) +
                      program.piggybacking.capacity() * sizeof(OpIndex);
  for (const auto& after : program.after) bytes += after.capacity() * sizeof(OpIndex);
  return bytes;
}

TEST_P(Planning, MemoryIsThatOfTheProgramWithinAFactorOfThree) {
  const Algorithm& row = *GetParam();
  if (row.kind != Kind::program) return;
  in_every_cell(row, {2, 5, 16, 48, 100, 256}, [&](const Problem& problem, const Network& network) {
    if (row.name == "early_owners" && problem.ranks > 128) return;
    const Plan plan = make_plan(row, problem, {}, {{}, network, true});
    std::size_t most = 0;
    for (const Program& program : some_programs(plan)) most = std::max(most, bytes_of(program));
    const auto counted = static_cast<double>(most + sizeof(Plan));
    const auto told = static_cast<double>(memory_of(plan));
    EXPECT_GE(told, counted / 3) << plan.algorithm;
    EXPECT_LE(told, 3 * (counted + 1500 + 8 * static_cast<double>(plan.table.size())))
        << plan.algorithm;
  });
}

/// A plan for a vector of nearly the same length: right, and nearly as good as what a search finds.
TEST_P(Planning, LikeAnotherPlanIsRightAndAsGood) {
  const Algorithm& row = *GetParam();
  in_every_cell(row, {2, 5, 16}, [&](const Problem& problem, const Network& network) {
    const Plan first = make_plan(row, problem, {}, {{}, network});
    Problem longer = problem;
    longer.count += problem.count / 9 + 1;
    const Plan like = plan_like(first, longer, {}, {{}, network});
    EXPECT_EQ(like.algorithm, first.algorithm);
    const Plan found =
        make_plan(find_algorithm(problem.collective, first.algorithm), longer, {}, {{}, network});
    const std::vector<Seconds> together(static_cast<std::size_t>(problem.ranks), 0);
    const auto taken = [&](const Plan& plan) {
      return std::ranges::max(replay(plan, network, together));
    };
    EXPECT_LE(taken(like), 1.2 * taken(found));
    const bool verified = row.kind == Kind::program && problem.count < (1 << 15);
    if (!verified) return;
    const auto wrong = verify(longer, build_programs(like));
    EXPECT_FALSE(wrong) << wrong->text;
  });
}

INSTANTIATE_TEST_SUITE_P(Registry, Planning, ::testing::ValuesIn(testing::planned_rows()),
                         testing::name_of_row);

TEST(PlanLike, KeepsWhatTheUserFixed) {
  const Problem problem{Collective::allreduce, 8, 1 << 18, 4};
  const Choice choice = parse_choice(Collective::allreduce, "linear_tree:segments=7:override=back");
  const Plan first = make_plan(*choice.algorithm, problem, choice.parameters, {});
  Problem twice = problem;
  twice.count *= 2;
  EXPECT_EQ(plan_like(first, twice, choice.parameters, {}).parameters, choice.parameters);
  EXPECT_EQ(plan_like(first, twice, {}, {}).parameters.at("segments"), 14);
}

TEST(PlanningCost, OfTheLibraryIsNothing) {
  const Problem problem{Collective::bcast, 8, 100, 1};
  EXPECT_EQ(planning_cost(find_algorithm(Collective::bcast, "native"), problem, {}), 0);
  EXPECT_GT(memory_of(arrival_exchange_plan(problem)), 0U);
}

}  // namespace
}  // namespace latecomer
