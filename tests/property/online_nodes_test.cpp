// Online owners among nodes, with data: all kinds of placements, arrivals in all orders and at
// random, on networks whose messages take random times.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "base/reproducible.hpp"
#include "property/random_worlds.hpp"
#include "reference/sweeps.hpp"
#include "schedule/program.hpp"
#include "simulate/elements.hpp"
#include "simulate/simulate.hpp"
#include "telemetry/watch.hpp"

namespace latecomer {
namespace {

const Algorithm& online_nodes() { return find_algorithm(Collective::allreduce, "online_nodes"); }

Problem online_sum(Rank ranks, Count count) { return {Collective::allreduce, ranks, count}; }

Plan online_plan(const Problem& problem, const Placement& placement,
                 const Parameters& parameters = {}, const std::vector<Seconds>& arrivals = {}) {
  Knowledge knowledge;
  knowledge.arrivals = arrivals;
  knowledge.placement = placement;
  return make_plan(online_nodes(), problem, parameters, knowledge);
}

/// Runs a call; returns what is wrong with it.
std::string run_online(const Plan& plan, SimulationOptions options, std::uint64_t seed) {
  if (parse_plan(to_text(plan)) != plan) return "the plan's text is another plan's";
  check_plan(plan);
  const Executors executors = make_executors(plan, options.network);
  CheckedMemory memory(plan.problem, executors, seed);
  options.memory = memory.memory();
  const Simulation result = simulate(executors, options);
  if (!result.failure.empty()) return result.failure;
  return memory.wrong() == 0 ? "" : std::to_string(memory.wrong()) + " elements are wrong";
}

/// Nodes of any sizes; ranks follow each other there, or are dealt out.
Placement random_placement(Rank ranks, Random& random) {
  const auto nodes = 1 + random.below(static_cast<std::uint64_t>(ranks));
  std::vector<Rank> placement;
  for (Rank rank = 0; rank < ranks; ++rank) {
    placement.push_back(static_cast<Rank>(random.below(nodes)));
  }
  if (random.below(2) == 0) std::ranges::sort(placement);
  return numbered(placement);
}

Parameters random_on_nodes(Random& random) {
  Parameters parameters = {{"progress", static_cast<Count>(random.below(2))}};
  const auto perhaps = [&](const char* name, Count least, std::uint64_t many) {
    if (random.below(3) > 0) parameters[name] = least + static_cast<Count>(random.below(many));
  };
  perhaps("blocks", 1, 40);
  perhaps("coordinator", 0, 5);
  perhaps("window", 1, 9);
  perhaps("step", 1, 4);
  perhaps("children", 1, 5);
  perhaps("pieces", 1, 9);
  return parameters;
}

TEST(OnlineNodes, ReducesInRandomRuns) {
  Random seeds(11);
  for (int i = 0; i < testing::random_runs(1500); ++i) {
    const std::uint64_t seed = seeds.next();
    Random random(seed);
    const auto ranks = static_cast<Rank>(1 + random.below(random.below(4) == 0 ? 40 : 13));
    const Count counts[] = {0, 1, ranks - 1, ranks + 1, 1000, 20000};
    Problem problem = online_sum(ranks, counts[random.below(6)]);
    problem.in_place = random.below(2) == 0;
    SimulationOptions options;
    options.network = random_network(random);
    if (random.below(2) == 0) options.network.gamma = 1e-8;
    options.network.local_beta = 1e-9 * static_cast<double>(random.below(10));
    options.network.memory = random.below(2) == 0 ? 1e-10 : 0;
    options.arrivals = random_arrivals(ranks, random);
    const Plan plan = online_plan(problem, random_placement(ranks, random), random_on_nodes(random),
                                  random.below(2) == 0 ? options.arrivals : std::vector<Seconds>{});
    ASSERT_EQ(run_online(plan, options, seed), "") << "seed " << seed << "\n" << to_text(plan);
  }
}

TEST(OnlineNodes, RanksMayArriveInAnyOrder) {
  for (const Placement& placement : {Placement{0, 0, 1, 1}, Placement{0, 1, 0, 1},
                                     Placement{0, 1, 1, 1}, Placement{0, 0, 1, 2}}) {
    for (const Count progress : {0, 1}) {
      for (const Seconds apart : {0.0, 2e-6, 1e-3}) {
        std::vector<Rank> order = {0, 1, 2, 3};
        do {
          SimulationOptions options;
          options.network = {.alpha = 1e-6, .beta = 1e-9, .gamma = 1e-10};
          options.network.local_alpha = 1e-7;
          options.network.local_beta = 1e-10;
          for (const Rank place : order) options.arrivals.push_back(apart * place);
          const Plan plan = online_plan(online_sum(4, 3000), placement,
                                        {{"blocks", 6}, {"pieces", 4}, {"progress", progress}});
          ASSERT_EQ(plan.algorithm, online_nodes().name);
          ASSERT_EQ(run_online(plan, options, 5), "") << to_text(plan);
        } while (std::ranges::next_permutation(order).found);
      }
    }
  }
}

/// Keeps neither the order of operands nor that of operations.
Element mixed_up(Element left, Element right) {
  return (left * 0x9e3779b97f4a7c15ULL) ^ (right * 0xc2b2ae3d27d4eb4fULL + 1);
}

TEST(OnlineNodes, AllRanksHaveTheSameBits) {
  Random random(12);
  for (int i = 0; i < 100; ++i) {
    const auto ranks = static_cast<Rank>(3 + random.below(10));
    SimulationOptions options;
    options.arrivals = random_arrivals(ranks, random);
    const Plan plan = online_plan(online_sum(ranks, 500), random_placement(ranks, random));
    std::vector<Memory> memories;
    const Executors executors = make_executors(plan, options.network);
    for (Rank rank = 0; rank < ranks; ++rank) {
      const RankContext& context = executors[static_cast<std::size_t>(rank)]->context();
      memories.emplace_back(context, mixed_up);
      for (Rank mate = 0; mate < rank && context.node_count > 0; ++mate) {
        const RankContext& other = executors[static_cast<std::size_t>(mate)]->context();
        if (other.node_count == 0 || other.node != context.node) continue;
        memories.back().share_node(memories[static_cast<std::size_t>(mate)]);
        break;
      }
      Elements own(500);
      for (Element& element : own) element = random.next();
      memories.back().write({Buffer::input, 0, 500}, own);
    }
    options.memory = &memories;
    ASSERT_EQ(simulate(executors, options).failure, "");
    for (const Memory& each : memories) ASSERT_EQ(each.output(), memories.front().output());
  }
}

TEST(OnlineNodes, IsOnlineOwnersWhereNoRanksShareANode) {
  for (const Rank ranks : {1, 5}) {
    const Problem problem = online_sum(ranks, 1000);
    const Plan plan = online_plan(problem, {}, {{"pieces", 3}, {"blocks", 10}});
    EXPECT_EQ(plan, make_plan(find_algorithm(Collective::allreduce, "online_owners"), problem,
                              {{"blocks", 10}}, {}));
  }
}

TEST(OnlineNodes, IsTheRowOfNodesWhereNothingCanFollowArrivals) {
  const auto expect_nodes = [](const Problem& problem, const Placement& placement) {
    Knowledge knowledge;
    knowledge.placement = placement;
    EXPECT_EQ(online_plan(problem, placement),
              make_plan(find_algorithm(Collective::allreduce, "nodes"), problem, {}, knowledge));
  };
  expect_nodes(online_sum(4, 1000), {0, 0, 0, 0});
  expect_nodes(online_sum(4, 0), {0, 0, 1, 1});
  Problem longer = online_sum(4, 70);
  longer.element_bytes = Count{1} << 20;
  expect_nodes(longer, {0, 0, 1, 1});
  SimulationOptions options;
  EXPECT_EQ(run_online(online_plan(longer, {0, 0, 1, 1}), options, 3), "");
}

TEST(OnlineNodes, DriversAreExpectedFirstAndTheFirstOneCoordinates) {
  const Placement placement = {0, 0, 0, 1, 1, 2};
  const Plan plan = online_plan(online_sum(6, 1000), placement, {}, {3, 2, 5, 4, 1, 6});
  EXPECT_EQ(plan.table, (std::vector<Count>{1, 4, 5}));
  EXPECT_EQ(plan.parameters.at("coordinator"), 1);
  const Plan unknown = online_plan(online_sum(6, 1000), placement);
  EXPECT_EQ(unknown.table, (std::vector<Count>{0, 3, 5}));
  EXPECT_EQ(unknown.parameters.at("coordinator"), 0);
}

/// The text of the error with which a plan is refused.
std::string refused_with(const Plan& plan) {
  try {
    check_plan(plan);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OnlineNodes, PlansThatItDoesNotMakeAreRefused) {
  const Plan made = online_plan(online_sum(4, 1000), {0, 0, 1, 1});
  EXPECT_EQ(refused_with(made), "");
  Plan plan = made;
  plan.placement = {0, 0, 0, 0};
  EXPECT_NE(refused_with(plan).find("a problem that nodes take"), std::string::npos);
  plan = made;
  plan.table = {0, 1};
  EXPECT_NE(refused_with(plan).find("of each node one of its ranks"), std::string::npos);
  for (const auto& change :
       std::vector<void (*)(Plan&)>{[](Plan& inner) { inner.problem.ranks = 3; },
                                    [](Plan& inner) { inner.progress = Progress::foreground; },
                                    [](Plan& inner) { inner.algorithm = "ring"; }}) {
    plan = made;
    change(plan.inner.front());
    EXPECT_NE(refused_with(plan).find("one of online_owners for 2 places"), std::string::npos);
  }
  plan = made;
  ++plan.parameters["window"];
  EXPECT_NE(refused_with(plan).find("window"), std::string::npos);
}

TEST(OnlineNodes, AllRanksLearnAllArrivals) {
  Random random(13);
  for (int i = 0; i < 50; ++i) {
    const auto ranks = static_cast<Rank>(2 + random.below(9));
    Knowledge knowledge;
    knowledge.placement = random_placement(ranks, random);
    knowledge.telemetry = true;
    const Plan plan = make_plan(online_nodes(), online_sum(ranks, 600), {}, knowledge);
    ASSERT_TRUE(plan.telemetry);
    SimulationOptions options;
    options.arrivals = random_arrivals(ranks, random);
    std::vector<ArrivalStamps> stamps(static_cast<std::size_t>(ranks), ArrivalStamps(ranks));
    for (Rank rank = 0; rank < ranks; ++rank) {
      ArrivalStamps& own = stamps[static_cast<std::size_t>(rank)];
      own.begin();
      own.arrive(rank, {options.arrivals[static_cast<std::size_t>(rank)], 0, 0});
      options.piggybacks.push_back(&own);
    }
    ASSERT_EQ(simulate(make_executors(plan, {}), options).failure, "");
    for (const ArrivalStamps& each : stamps) ASSERT_TRUE(each.complete()) << to_text(plan);
  }
}

// A vector over a network of 1 Gbit/s after random lateness: the nodes' row waits for all ranks.
TEST(OnlineNodes, FollowsArrivals) {
  Random random(14);
  const Network network{.alpha = 5e-5, .beta = 8e-9, .gamma = 1e-10, .local_beta = 1e-10};
  const Placement placement = consecutive_placement(16, 2);
  const Problem problem = online_sum(16, 1 << 20);
  double online = 0;
  double nodes = 0;
  for (int i = 0; i < 5; ++i) {
    SimulationOptions options;
    options.network = network;
    for (int rank = 0; rank < 16; ++rank) options.arrivals.push_back(0.14 * random.uniform());
    const Seconds last = std::ranges::max(options.arrivals);
    const auto after_last = [&](const Plan& plan) {
      return simulate(make_executors(plan, network), options).last_exit() - last;
    };
    online +=
        after_last(make_plan(online_nodes(), problem, {}, {{}, network, false, false, placement}));
    nodes += after_last(make_plan(find_algorithm(Collective::allreduce, "nodes"), problem, {},
                                  {{}, network, false, false, placement}));
  }
  EXPECT_LT(online, 0.85 * nodes);
}

}  // namespace
}  // namespace latecomer
