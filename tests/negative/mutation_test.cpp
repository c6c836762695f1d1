// Whatever single operation of a correct schedule is changed, the verifier notices, unless the
// changed schedule does the same; and then it does not complain.
#include <gtest/gtest.h>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "negative/equivalence.hpp"
#include "reference/reference.hpp"
#include "verify/verify.hpp"

namespace latecomer {
namespace {

using testing::After;
using testing::Change;
using testing::Mutant;

std::string case_text(const Plan& plan) {
  const Problem& problem = plan.problem;
  return plan.algorithm + ' ' + describe_parameters(plan) + ", " + std::to_string(problem.ranks) +
         " ranks, " + std::to_string(problem.count) + " elements" +
         (problem.in_place ? ", in place" : "") + (problem.commutative ? "" : ", not commutative");
}

/// Runs the programs on the engine with real data; returns the fault of the results in words.
std::string run(const Problem& problem, const std::vector<Program>& programs) {
  const auto inputs = testing::random_inputs(problem, 1);
  std::vector<Memory> memory = testing::memory_with(problem, executors_of(programs), inputs);
  SimulationOptions options;
  options.memory = &memory;
  options.engine.window = 1;
  const Simulation simulation = simulate(programs, options);
  if (!simulation.failure.empty()) return simulation.failure;
  return testing::compare(problem, memory, inputs);
}

/// Receives are posted from one peer at a time: in another order ranks may wait in a ring.
bool reorders_receives(const Program& original, const Mutant& mutant) {
  if (mutant.change != Change::swap_with_next) return false;
  const Operation& one = original.operations[mutant.at];
  const Operation& next = original.operations[mutant.at + 1];
  return one.kind == OpKind::recv && next.kind == OpKind::recv && one.peer != next.peer;
}

/// All mutants of all ranks of one schedule.
class Mutation {
 public:
  explicit Mutation(const Plan& plan) : plan_(plan), programs_(build_programs(plan)) {}

  void run_all() {
    const auto found = verify(plan_.problem, programs_);
    ASSERT_FALSE(found) << case_text(plan_) << ": " << found->text;
    for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
      const Program original = programs_[rank];
      testing::each_mutant(original, [&](const Mutant& mutant) {
        programs_[rank] = mutant.program;
        judge(original, mutant);
      });
      programs_[rank] = original;
    }
  }

 private:
  void judge(const Program& original, const Mutant& mutant) {
    const auto found = verify(plan_.problem, programs_);
    const bool same = testing::equivalent(original, mutant, programs_);
    if (!found) {
      EXPECT_TRUE(same) << "not detected: " << case_text(plan_) << ": "
                        << describe(original, mutant);
      EXPECT_EQ(run(plan_.problem, programs_), "")
          << case_text(plan_) << ": " << describe(original, mutant);
    } else if (found->rule == "deadlock" && reorders_receives(original, mutant)) {
      return;
    } else if (mutant.after != After::in_place) {
      // In place, dependencies that now belong to another operation may make ranks wait in a ring.
      EXPECT_FALSE(same) << "false alarm: " << case_text(plan_) << ": "
                         << describe(original, mutant) << ": " << found->text;
    }
  }

  Plan plan_;
  std::vector<Program> programs_;
};

std::vector<Plan> plans(const Algorithm& algorithm, Rank ranks) {
  std::vector<Plan> result;
  for (const bool in_place : {false, true}) {
    for (const bool commutative : {true, false}) {
      Problem problem{algorithm.collective, ranks, ranks + 1};
      problem.in_place = in_place;
      problem.commutative = commutative;
      if (!accepts(algorithm, problem, nullptr)) continue;
      result.push_back(make_plan(algorithm, problem, {}, {}));
    }
  }
  return result;
}

/// A plan for arrivals: the lower half of the ranks late.
Plan plan_for_late_ranks(const Algorithm& algorithm, Rank ranks) {
  Knowledge knowledge;
  for (Rank rank = 0; rank < ranks; ++rank) knowledge.arrivals.push_back(2 * rank < ranks ? 1 : 0);
  return make_plan(algorithm, {algorithm.collective, ranks, ranks + 1}, {}, knowledge);
}

class EveryAlgorithm : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(EveryAlgorithm, EveryMistakeIsDetected) {
  const Algorithm& algorithm = *GetParam();
  for (const Rank ranks : {1, 2, 3, 4}) {
    for (const Plan& plan : plans(algorithm, ranks)) Mutation(plan).run_all();
  }
  Mutation(plans(algorithm, 5).back()).run_all();
  if (algorithm.arrival_aware) Mutation(plan_for_late_ranks(algorithm, 4)).run_all();
}

std::vector<const Algorithm*> programs_in_registry() {
  std::vector<const Algorithm*> rows;
  for (const Algorithm& algorithm : registry()) {
    if (algorithm.kind == Kind::program) rows.push_back(&algorithm);
  }
  return rows;
}

/// One node, nodes of two ranks, and a rank alone beside a node; vectors of several pieces, several
/// slices and several waves.
std::vector<Plan> plans_on_nodes(const Algorithm& algorithm) {
  std::vector<Plan> result;
  for (const Placement& placement : {Placement{0, 0}, Placement{0, 0, 1}, Placement{0, 1, 0, 1}}) {
    for (const Count element_bytes : {Count{8192}, kMaxNodeBytes / 2}) {
      const auto ranks = static_cast<Rank>(placement.size());
      Problem problem{algorithm.collective, ranks, ranks};
      problem.element_bytes = element_bytes;
      problem.in_place = ranks == 4 && algorithm.collective == Collective::allreduce;
      Knowledge knowledge;
      knowledge.placement = placement;
      result.push_back(make_plan(algorithm, problem, {}, knowledge));
    }
  }
  return result;
}

TEST(MutationOnNodes, EveryMistakeIsDetected) {
  for (const Algorithm& algorithm : registry()) {
    if (algorithm.name != "nodes") continue;
    for (const Plan& plan : plans_on_nodes(algorithm)) Mutation(plan).run_all();
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, ::testing::ValuesIn(programs_in_registry()),
                         [](const auto& test) {
                           return std::string(to_string(test.param->collective)) + "_" +
                                  std::string(test.param->name);
                         });

}  // namespace
}  // namespace latecomer
