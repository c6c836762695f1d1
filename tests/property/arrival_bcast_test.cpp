// The arrival broadcasts with data: thousands of seeded runs with ranks that are late at random on
// networks whose messages take random times; and how soon ranks leave.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "property/random_worlds.hpp"
#include "reference/reference.hpp"
#include "reference/sweeps.hpp"

namespace latecomer {
namespace {

constexpr const char* kBoth[] = {"arrival_b", "arrival_nb"};

TEST(ArrivalBcast, BroadcastsInRandomRuns) {
  Random seeds(4);
  for (int i = 0; i < testing::random_runs(3000); ++i) {
    const std::uint64_t seed = seeds.next();
    Random random(seed);
    const auto ranks = static_cast<Rank>(1 + random.below(128));
    Problem problem{Collective::bcast, ranks, static_cast<Count>(random.below(30))};
    problem.root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks)));
    const Parameters parameters = {{"segments", static_cast<Count>(1 + random.below(12))}};
    const Algorithm& row = find_algorithm(Collective::bcast, kBoth[random.below(2)]);
    const Plan plan = make_plan(row, problem, parameters, {});
    SimulationOptions options;
    options.network = random_network(random);
    options.arrivals = random_arrivals(ranks, random);
    ASSERT_EQ(testing::run_and_compare(plan, options, seed), "")
        << "seed " << seed << ", " << row.name << ", P=" << ranks;
  }
}

constexpr Network kNetwork{.alpha = 50e-6, .beta = 8e-9};
constexpr Count kElements = 1 << 20;
const Seconds kVector = kNetwork.beta * 4 * kElements;

Simulation run(const char* name, Rank root, const std::vector<Seconds>& arrivals) {
  const auto ranks = static_cast<Rank>(arrivals.size());
  const Problem problem{Collective::bcast, ranks, kElements, 4, root};
  const Plan plan = make_plan(find_algorithm(Collective::bcast, name), problem, {}, {{}, kNetwork});
  SimulationOptions options;
  options.network = kNetwork;
  options.arrivals = arrivals;
  return simulate(make_executors(plan, kNetwork), options);
}

/// A rank that arrives is fed at once: when many arrive one by one, the last one waits about a
/// vector's time, where a root that served all of them itself would take one for each.
TEST(ArrivalBcast, WhoComesLastWaitsForOneVector) {
  for (const char* const name : kBoth) {
    for (const Rank root : {0, 5, 15}) {
      for (const double apart : {0.05, 0.3, 0.7, 1.2}) {
        std::vector<Seconds> arrivals(16, 0);
        for (Rank rank = 0; rank < 16; ++rank) {
          if (rank != root) arrivals[static_cast<std::size_t>(rank)] = apart * kVector * rank;
        }
        const Seconds last = *std::max_element(arrivals.begin(), arrivals.end());
        EXPECT_LE(run(name, root, arrivals).last_exit() - last, 1.35 * kVector)
            << name << ", root " << root << ", apart " << apart;
      }
    }
  }
}

/// Ranks that have arrived leave as if the absent ones took no part.
TEST(ArrivalBcast, NobodyWaitsForAbsentRanks) {
  for (const char* const name : kBoth) {
    for (Rank late = 1; late < 16; ++late) {
      std::vector<Seconds> arrivals(16, 0);
      arrivals[static_cast<std::size_t>(late)] = 100 * kVector;
      const Simulation result = run(name, 0, arrivals);
      for (Rank rank = 1; rank < 16; ++rank) {
        if (rank == late) continue;
        EXPECT_LE(result.exits[static_cast<std::size_t>(rank)], 1.5 * kVector) << name << rank;
      }
    }
  }
}

/// arrival_nb: the root leaves before, and the late one finds the vector in its memory.
TEST(ArrivalBcast, AheadTheRootDoesNotWaitEither) {
  std::vector<Seconds> arrivals(8, 0);
  arrivals[3] = 100 * kVector;
  const Simulation waits = run("arrival_b", 0, arrivals);
  EXPECT_GE(waits.exits[0], 101 * kVector);
  EXPECT_GE(waits.exits[3], 101 * kVector);
  const Simulation ahead = run("arrival_nb", 0, arrivals);
  EXPECT_LE(ahead.exits[0], 2.5 * kVector);
  EXPECT_LE(ahead.exits[3], 100.01 * kVector);
}

TEST(ArrivalBcast, SendsAheadInShortSegments) {
  const Problem problem{Collective::bcast, 3, kElements};
  const Network network{.eager_limit = 4096};
  const auto segments = [&](const char* name) {
    const Algorithm& row = find_algorithm(Collective::bcast, name);
    return make_plan(row, problem, {}, {{}, network}).parameters.at("segments");
  };
  EXPECT_GE(segments("arrival_nb"), 2048);
  EXPECT_LT(segments("arrival_b"), 2048);
}

TEST(ArrivalBcast, HasNoMoreSegmentsThanAWordCanNumber) {
  const Algorithm& row = find_algorithm(Collective::bcast, "arrival_b");
  const Problem problem{Collective::bcast, 3, kElements};
  const Plan plan = make_plan(row, problem, {{"segments", kElements}}, {});
  EXPECT_EQ(plan.parameters.at("segments"), 65536);
}

}  // namespace
}  // namespace latecomer
