// The text of a few schedules, as committed: a change of the text form, of an algorithm or of the
// scoreboard shows as a difference to be read. LATECOMER_UPDATE_GOLDEN=1 writes them anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"

namespace latecomer {
namespace {

struct Golden {
  std::string file;
  std::string algorithm;
  Problem problem;
  std::vector<Seconds> arrivals;
};

void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.file; }

class GoldenText : public ::testing::TestWithParam<Golden> {};

TEST_P(GoldenText, IsAsCommitted) {
  const Golden& golden = GetParam();
  const Choice choice = parse_choice(Collective::allreduce, golden.algorithm);
  const Plan plan = make_plan(*choice.algorithm, golden.problem, choice.parameters,
                              {golden.arrivals, {.alpha = 1, .beta = 0, .gamma = 0}});
  const std::string text = to_text(Schedule{plan, build_programs(plan)});
  const auto path = std::filesystem::path(LATECOMER_TEST_DATA) / "golden" / golden.file;
  if (std::getenv("LATECOMER_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream committed;
  committed << std::ifstream(path).rdbuf();
  EXPECT_EQ(committed.str(), text);
}

Problem problem(Rank ranks, Count count, bool commutative = true, bool in_place = false) {
  return {Collective::allreduce, ranks, count, 4, 0, commutative, in_place};
}

INSTANTIATE_TEST_SUITE_P(
    Allreduce, GoldenText,
    ::testing::Values(
        Golden{"ring_3.txt", "ring", problem(3, 6), {}},
        Golden{"ring_3_in_place.txt", "ring", problem(3, 6, true, true), {}},
        Golden{"prereduced_ring_4_one_late.txt", "prereduced_ring", problem(4, 8), {0, 2, 0, 0}},
        Golden{"sorted_linear_tree_4_one_late.txt",
               "sorted_linear_tree:segments=2",
               problem(4, 4),
               {4, 0, 0, 0}},
        Golden{"recursive_doubling_3_ordered.txt", "recursive_doubling", problem(3, 2, false), {}},
        Golden{"rabenseifner_4.txt", "rabenseifner", problem(4, 8), {}},
        Golden{"dual_root_6.txt", "dual_root:segments=2", problem(6, 4), {}},
        Golden{"dual_root_4_ordered.txt", "dual_root:segments=1", problem(4, 2, false), {}},
        Golden{"pipelined_tree_3.txt", "pipelined_tree:segments=2", problem(3, 4), {}},
        Golden{"reduce_bcast_4.txt", "reduce_bcast", problem(4, 2), {}},
        Golden{"two_tree_5.txt", "two_tree:segments=4", problem(5, 8), {}}));

}  // namespace
}  // namespace latecomer
