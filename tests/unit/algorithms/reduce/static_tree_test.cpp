// The static tree against the model it is optimal in, and where its result ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "reference/reference.hpp"

namespace latecomer {
namespace {

/// LocalRedirectProtocol takes 1 s from when both ranks are ready, whatever its length.
const Network kAtomic{.alpha = 1, .beta = 0, .gamma = 0, .eager_limit = 0};

Plan planned(Rank ranks, Rank root, const Network& network, const std::vector<Seconds>& arrivals,
             Count count = 1) {
  const Problem problem{Collective::reduce, ranks, count, 4, root};
  return make_plan(find_algorithm(Collective::reduce, "static_tree"), problem, {},
                   {arrivals, network});
}

Seconds exit_of_root(const Plan& plan, const Network& network,
                     const std::vector<Seconds>& arrivals) {
  SimulationOptions options;
  options.network = network;
  options.arrivals = arrivals;
  const Simulation result = simulate(build_programs(plan), options);
  EXPECT_EQ(result.failure, "");
  return result.exits[static_cast<std::size_t>(plan.problem.root)];
}

/// True if all can be merged by `end`: Kraft's inequality on the depth of a rank in the tree.
bool feasible(const std::vector<Seconds>& arrivals, Seconds end) {
  double sum = 0;
  for (const Seconds arrival : arrivals) sum += std::exp2(-std::floor(end - arrival));
  return sum <= 1;
}

/// It ends a whole number of merges after some arrival.
Seconds least_end(const std::vector<Seconds>& arrivals) {
  Seconds least = 1e9;
  for (const Seconds arrival : arrivals) {
    for (std::size_t merges = 0; merges <= arrivals.size(); ++merges) {
      const Seconds end = arrival + static_cast<double>(merges);
      if (end < least && feasible(arrivals, end)) least = end;
    }
  }
  return least;
}

/// Multiples of 1/1024 s, so that sums are exact.
std::vector<Seconds> random_arrivals(Rank ranks, Random& random) {
  const std::uint64_t spread = 1 + random.below(8 * 1024);
  std::vector<Seconds> arrivals;
  for (Rank rank = 0; rank < ranks; ++rank) {
    arrivals.push_back(static_cast<double>(random.below(spread)) / 1024);
  }
  return arrivals;
}

TEST(StaticTree, EndsWhenNoTreeCouldEndEarlier) {
  Random random(12);
  for (int i = 0; i < 500; ++i) {
    const auto ranks = static_cast<Rank>(1 + random.below(40));
    const auto root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks)));
    const std::vector<Seconds> arrivals = random_arrivals(ranks, random);
    const Plan plan = planned(ranks, root, kAtomic, arrivals);
    EXPECT_EQ(exit_of_root(plan, kAtomic, arrivals), least_end(arrivals)) << "case " << i;
  }
}

TEST(StaticTree, OfOneLateRankOnlyOneMergeIsLeft) {
  const std::vector<Seconds> arrivals = {0, 0, 0, 10, 0, 0, 0, 0};
  for (const Rank root : {0, 3, 7}) {
    EXPECT_EQ(exit_of_root(planned(8, root, kAtomic, arrivals), kAtomic, arrivals), 11);
  }
}

/// A message takes 2 s, also to a busy rank, and so does a combine. If the root takes part in all
/// merges that it is ready for, it has the result after 14 s.
TEST(StaticTree, MayEndElsewhereWhereThatIsSooner) {
  const Network network{.alpha = 2, .beta = 0, .gamma = 0.5, .eager_limit = 1 << 20};
  const std::vector<Seconds> arrivals = {1, 3, 6, 6};
  const Plan plan = planned(4, 0, network, arrivals);
  EXPECT_NE(plan.order.back(), 0);
  EXPECT_EQ(exit_of_root(plan, network, arrivals), 13);
}

TEST(StaticTree, RoundsOfOneTogetherAreThoseOfABinomialTree) {
  const Algorithm& row = find_algorithm(Collective::reduce, "static_tree");
  for (const Rank ranks : {2, 3, 8, 100}) {
    const Plan plan = planned(ranks, ranks / 2, kAtomic, {});
    EXPECT_EQ(row.cost(plan).rounds, std::ceil(std::log2(ranks))) << ranks;
  }
}

}  // namespace
}  // namespace latecomer
