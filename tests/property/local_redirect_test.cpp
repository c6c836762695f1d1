// local_redirect with data: thousands of seeded runs with ranks that are late at random on networks
// whose messages take random times.
#include <gtest/gtest.h>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "property/random_worlds.hpp"
#include "reference/reference.hpp"
#include "reference/sweeps.hpp"

namespace latecomer {
namespace {

TEST(LocalRedirect, ReducesInRandomRuns) {
  Random seeds(3);
  for (int i = 0; i < testing::random_runs(3000); ++i) {
    const std::uint64_t seed = seeds.next();
    Random random(seed);
    const auto ranks = static_cast<Rank>(1 + random.below(128));
    Problem problem{Collective::reduce, ranks, static_cast<Count>(random.below(4))};
    problem.root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks)));
    problem.commutative = random.below(2) == 0;
    problem.in_place = random.below(2) == 0;
    const Plan plan =
        make_plan(find_algorithm(Collective::reduce, "local_redirect"), problem, {}, {});
    SimulationOptions options;
    options.network = random_network(random);
    options.arrivals = random_arrivals(ranks, random);
    ASSERT_EQ(testing::run_and_compare(plan, options, seed), "")
        << "seed " << seed << ", P=" << ranks;
  }
}

/// After one late rank, wherever it stands, at most two merges remain, and the hand-over.
TEST(LocalRedirect, OfOneLateRankTwoMergesAreLeft) {
  const Network network{.alpha = 10e-6, .beta = 8e-9, .gamma = 1e-9, .eager_limit = 0};
  const Algorithm& row = find_algorithm(Collective::reduce, "local_redirect");
  for (const bool commutative : {true, false}) {
    for (Rank late = 0; late < 32; ++late) {
      const Problem problem{Collective::reduce, 32, 10000, 4, 0, commutative};
      SimulationOptions options;
      options.network = network;
      options.arrivals.assign(32, 0);
      options.arrivals[static_cast<std::size_t>(late)] = 0.1;
      const Plan plan = make_plan(row, problem, {}, {});
      const Seconds after = simulate(make_executors(plan, network), options).last_exit() - 0.1;
      const Seconds words = 4 * network.occupancy(8);
      const Seconds merge = words + network.transfer(40000) + network.combining(40000);
      EXPECT_LE(after, 2 * merge + (commutative ? 0 : network.transfer(40000))) << late;
    }
  }
}

}  // namespace
}  // namespace latecomer
