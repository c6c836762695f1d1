// The graph of a call's activities against the virtual network: all rows, random networks, arrivals
// and nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "graph/activities.hpp"
#include "reference/sweeps.hpp"
#include "simulate/simulate.hpp"

namespace latecomer {
namespace {

constexpr int kWorlds = testing::kSanitized ? 8 : 100;  // of each row

/// Where activities are ready at the same moment, the virtual network may serve another one first,
/// and later ones with it: ranks that share a link, or that one late rank has brought in step.
constexpr Seconds kMostApart = 0.5;   // of the last exit: a single exit in a single world
constexpr Seconds kMeanApart = 0.01;  // of the largest difference of each world
constexpr double kPartExact = 0.8;    // of the worlds of each row

struct World {
  Problem problem;
  Network network;
  Placement placement;
  std::vector<Seconds> arrivals;
};

/// Networks are without jitter, which the graph does not know.
World draw(Random& random, const Algorithm& row) {
  const auto below = [&](std::uint64_t limit) { return static_cast<Count>(random.below(limit)); };
  World world;
  const auto ranks = static_cast<Rank>(2 + below(random.below(4) == 0 ? 62 : 15));
  world.problem = {row.collective, ranks, Count{1} << (4 + below(16)), 4};
  Network& network = world.network;
  network.alpha = 1e-6 * static_cast<double>(1 + below(60));
  network.beta = 1e-9 * (0.1 + 10 * random.uniform());
  network.gamma = 0.1e-9 * static_cast<double>(1 + below(4));
  network.eager_limit = below(2) == 0 ? 65536 : 4096;
  if (below(2) == 0) network.handshake = 1e-6 * static_cast<double>(below(50));
  if (below(5) == 0) network.exchange = 1.5;
  if (below(4) == 0) network.buffer = 65536;
  if (below(6) == 0) network.burst = 100000;
  if (below(3) == 0) network.memory = 0.3e-9;
  if (below(6) == 0) network.ports = 2;
  if (below(3) == 0) {
    world.placement = consecutive_placement(ranks, static_cast<Rank>(2 + below(3)));
  }
  const Seconds transfer = network.occupancy(world.problem.count * 4) + 10 * network.alpha;
  const Seconds spread = (0.01 + static_cast<double>(below(3))) * transfer;
  for (Rank rank = 0; rank < ranks; ++rank) {
    world.arrivals.push_back(spread * random.uniform());
  }
  return world;
}

std::vector<Seconds> simulated(const World& world, const std::vector<Program>& programs) {
  SimulationOptions options;
  options.network = world.network;
  options.arrivals = world.arrivals;
  options.placement = world.placement;
  return simulate(programs, options).exits;
}

/// The largest difference of two exits, as a part of the last exit.
Seconds apart(const std::vector<Seconds>& a, const std::vector<Seconds>& b) {
  Seconds most = 0;
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    most = std::max(most, std::abs(a[rank] - b[rank]));
  }
  return most / std::ranges::max(a);
}

/// Calls `work` with worlds of the row and the programs of their ranks. Returns their number.
template <class Work>
int in_worlds(const Algorithm& row, Work&& work) {
  int worlds = 0;
  for (std::uint64_t seed = 1; worlds < kWorlds && seed < 1000; ++seed) {
    Random random(seed);
    const World world = draw(random, row);
    if (!accepts(row, world.problem, nullptr)) continue;
    const Knowledge knowledge{world.arrivals, world.network, false, false, world.placement};
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(world.problem.ranks) +
                 " ranks, " + to_string(world.network));
    work(world, build_programs(make_plan(row, world.problem, {}, knowledge)));
    ++worlds;
  }
  return worlds;
}

class ServiceOf : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(ServiceOf, ActivitiesIsThatOfTheVirtualNetwork) {
  int exact = 0;
  Seconds sum = 0;
  const int worlds = in_worlds(*GetParam(), [&](const World& world, const auto& programs) {
    const Activities all = activities_of(programs, world.network, 4, world.placement);
    const Seconds found =
        apart(simulated(world, programs), serve(all, world.arrivals, world.network));
    EXPECT_LE(found, kMostApart);
    sum += found;
    if (found < 1e-9) ++exact;
  });
  if (!testing::kSanitized) {  // a few worlds have no mean to speak of
    EXPECT_GE(exact, kPartExact * worlds);
    EXPECT_LE(sum, kMeanApart * worlds);
  }
  RecordProperty("exact", exact);
}

std::vector<const Algorithm*> rows_with_programs() {
  std::vector<const Algorithm*> all;
  for (const Algorithm& row : registry()) {
    if (row.kind != Kind::native && row.kind != Kind::protocol) all.push_back(&row);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(EachRow, ServiceOf, ::testing::ValuesIn(rows_with_programs()),
                         [](const auto& each) {
                           return std::string(to_string(each.param->collective)) + "_" +
                                  std::string(each.param->name);
                         });

/// Prints nanoseconds an operation.
TEST(Service, DISABLED_Takes) {
  const auto seconds = [](auto&& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const std::pair<const char*, Rank> rows[] = {{"ring", 48},
                                               {"early_owners", 48},
                                               {"sorted_linear_tree", 16},
                                               {"rabenseifner", 1024},
                                               {"ring", 256}};
  for (const auto& [name, ranks] : rows) {
    World world;
    world.problem = {Collective::allreduce, ranks, 1 << 20, 4};
    for (Rank rank = 0; rank < ranks; ++rank) world.arrivals.push_back(1e-5 * (rank * 7919 % 1000));
    const Plan plan = make_plan(find_algorithm(Collective::allreduce, name), world.problem, {},
                                {world.arrivals, world.network});
    std::vector<Program> programs;
    Activities all;
    const double times[] = {seconds([&] { programs = build_programs(plan); }),
                            seconds([&] { (void)simulated(world, programs); }),
                            seconds([&] { all = activities_of(programs, world.network, 4); }),
                            seconds([&] { (void)serve(all, world.arrivals, world.network); })};
    std::size_t operations = 0;
    for (const Program& each : programs) operations += each.operations.size();
    std::printf("| `%s` | %d | %zu |", name, ranks, operations);
    for (const double time : times) {
      std::printf(" %.3g |", 1e9 * time / static_cast<double>(operations));
    }
    std::printf("\n");
  }
}

TEST(Activities, AMessageWithoutAnotherSideIsRefused) {
  const Problem problem{Collective::bcast, 2, 16, 4};
  const Plan plan = make_plan(find_algorithm(Collective::bcast, "linear"), problem, {}, {});
  std::vector<Program> programs = build_programs(plan);
  programs[1] = programs[0];
  programs[1].operations.resize(1);
  programs[1].after.resize(1);
  EXPECT_THROW((void)activities_of(programs, {}, 4), Error);
}

}  // namespace
}  // namespace latecomer
