// online_owners with data: seeded runs with ranks that are late at random, on networks whose
// messages and combinations take random times.
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "algorithms/plans.hpp"
#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "property/random_worlds.hpp"
#include "reference/reference.hpp"
#include "reference/sweeps.hpp"

namespace latecomer {
namespace {

const Algorithm& row() { return find_algorithm(Collective::allreduce, "online_owners"); }

/// Defaults, or other values for some of the parameters.
Parameters random_parameters(Rank ranks, Random& random) {
  const auto below = [&](std::uint64_t limit) { return static_cast<Count>(random.below(limit)); };
  Parameters parameters = {{"progress", below(2)}};
  const auto perhaps = [&](const char* name, Count value) {
    if (below(3) > 0) parameters[name] = value;
  };
  perhaps("blocks", 1 + below(40));
  perhaps("coordinator", below(static_cast<std::uint64_t>(ranks)));
  perhaps("window", 1 + below(9));
  perhaps("step", 1 + below(4));
  perhaps("children", 1 + below(5));
  return parameters;
}

Problem random_problem(Random& random) {
  const auto ranks = static_cast<Rank>(1 + random.below(random.below(4) == 0 ? 64 : 17));
  const Count counts[] = {0, 1, ranks - 1, ranks, ranks + 1, 1000};
  Problem problem{Collective::allreduce, ranks, counts[random.below(6)]};
  problem.in_place = random.below(2) == 0;
  return problem;
}

TEST(OnlineOwners, ReducesInRandomRuns) {
  Random seeds(10);
  for (int i = 0; i < testing::random_runs(2000); ++i) {
    const std::uint64_t seed = seeds.next();
    Random random(seed);
    const Problem problem = random_problem(random);
    SimulationOptions options;
    options.network = random_network(random);
    if (random.below(2) == 0) options.network.gamma = 1e-6;  // slower than many messages
    options.arrivals = random_arrivals(problem.ranks, random);
    const Plan plan =
        make_plan(row(), problem, random_parameters(problem.ranks, random), {{}, options.network});
    ASSERT_EQ(testing::run_and_compare(plan, options, seed), "")
        << "seed " << seed << ", P=" << problem.ranks << "\n"
        << to_text(plan);
  }
}

/// Settings are for communicators of all sizes.
TEST(OnlineOwners, CutsParametersThatAreTooLarge) {
  constexpr Count kMuch = std::numeric_limits<Count>::max();
  const Parameters asked = {{"blocks", kMuch},
                            {"coordinator", kMuch},
                            {"step", kMuch},
                            {"window", kMuch},
                            {"children", kMuch}};
  const Plan plan = make_plan(row(), {Collective::allreduce, 3, 7}, asked, {});
  const Parameters cut = {
      {"blocks", 7}, {"coordinator", 2}, {"step", 1024}, {"window", 4096}, {"children", 1024}};
  EXPECT_EQ(plan.parameters, cut);
  EXPECT_NO_THROW(check_plan(plan));
}

TEST(OnlineOwners, RefusesPlansWithParametersThatAreTooLarge) {
  const Plan plan = make_plan(row(), {Collective::allreduce, 3, 7}, {}, {});
  for (const auto& [name, most] : {std::pair{"blocks", 7},
                                   {"coordinator", 2},
                                   {"step", 1024},
                                   {"window", 4096},
                                   {"children", 1024}}) {
    Plan other = plan;
    other.parameters[name] = most;
    EXPECT_NO_THROW(check_plan(other)) << name;
    ++other.parameters[name];
    EXPECT_THROW(check_plan(other), Error) << name;
  }
  Plan other = plan;
  other.table = {0, 0, 0};
  EXPECT_THROW(check_plan(other), Error);
}

TEST(OnlineOwners, TheRankThatIsExpectedFirstCoordinates) {
  const Problem problem{Collective::allreduce, 4, 1000};
  EXPECT_EQ(make_plan(row(), problem, {}, {}).parameters.at("coordinator"), 0);
  const Plan plan = make_plan(row(), problem, {}, {{0.3, 0.2, 0.1, 0.4}, {}});
  EXPECT_EQ(plan.parameters.at("coordinator"), 2);
}

}  // namespace
}  // namespace latecomer
