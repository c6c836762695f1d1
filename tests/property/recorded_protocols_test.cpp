// Algorithms that decide while they run: what their ranks do keeps every rule of a schedule, for
// random problems, arrivals and costs.
#include <gtest/gtest.h>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/reproducible.hpp"
#include "capi/core/core.hpp"
#include "reference/sweeps.hpp"

namespace latecomer {
namespace {

struct World {
  Problem problem;
  Network network;
  std::vector<Seconds> arrivals;
  Placement placement;
};

World draw(const Algorithm& row, Random& random) {
  World world;
  const auto ranks = static_cast<Rank>(1 + random.below(testing::kMaxRanks));
  Problem& problem = world.problem;
  problem = {row.collective, ranks, static_cast<Count>(random.below(90))};
  if (rooted(row.collective)) {
    problem.root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks)));
  }
  problem.commutative = row.commutative_only || random.below(2) == 0;
  if (!combines(row.collective)) problem.commutative = true;
  problem.in_place = row.collective != Collective::bcast && random.below(2) == 0;
  world.network.alpha = 1e-6 * static_cast<double>(1 + random.below(100));
  world.network.jitter = 0.5 * static_cast<double>(random.below(2));
  world.network.seed = random.next();
  for (Rank rank = 0; rank < ranks; ++rank) {
    const bool late = random.below(3) == 0;
    world.arrivals.push_back(late ? 1e-6 * static_cast<double>(random.below(2000)) : 0);
    world.placement.push_back(rank / static_cast<Rank>(1 + random.below(2)));
  }
  return world;
}

TEST(RecordedProtocols, KeepEveryRule) {
  for (const Algorithm& row : registry()) {
    if (row.kind != Kind::protocol) continue;
    Random seeds(3);
    for (int i = 0; i < testing::random_runs(400); ++i) {
      const std::uint64_t seed = seeds.next();
      Random random(seed);
      World world = draw(row, random);
      world.placement = numbered(world.placement);
      Knowledge knowledge{world.arrivals, world.network, false};
      if (shares_nodes(world.placement)) knowledge.placement = world.placement;
      const Plan plan = make_plan(row, world.problem, {}, knowledge);
      const auto found = verify_plan(plan, world.network, world.arrivals, world.placement);
      ASSERT_FALSE(found) << row.name << ", seed " << seed << ": " << found->rule << ": "
                          << found->text;
    }
  }
}

}  // namespace
}  // namespace latecomer
