// Prices and choices where ranks share nodes.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/nodes/cut.hpp"
#include "algorithms/plans.hpp"
#include "base/reproducible.hpp"
#include "price/candidates.hpp"
#include "price/price.hpp"

namespace latecomer {
namespace {

constexpr Network kGigabit{.alpha = 50e-6, .beta = 8e-9, .gamma = 0.1e-9};
constexpr Network kHundredGigabit{.alpha = 3e-6, .beta = 0.08e-9, .gamma = 0.1e-9};

Plan planned(std::string_view name, const Problem& problem, const Network& network,
             const Placement& placement, std::vector<Seconds> arrivals = {}) {
  Knowledge knowledge{std::move(arrivals), network};
  knowledge.placement = placement;
  return make_plan(find_algorithm(problem.collective, name), problem, {}, knowledge);
}

Problem sum_of(Rank ranks, Count count) { return {Collective::allreduce, ranks, count, 4}; }

std::vector<Seconds> one_late(Rank ranks) {
  std::vector<Seconds> arrivals(static_cast<std::size_t>(ranks), 0);
  arrivals[1] = 20e-3;
  return arrivals;
}

TEST(OnNodes, ChoicesTakeNodesWhereRanksShareThem) {
  const Placement placement = consecutive_placement(16, 4);
  for (const Count count : {100, 100000}) {
    const Problem problem = sum_of(16, count);
    for (const auto& arrivals : {std::vector<Seconds>{}, one_late(16)}) {
      for (const std::string_view name : {"fastest", "auto"}) {
        const Plan plan = planned(name, problem, kGigabit, placement, arrivals);
        EXPECT_EQ(plan.algorithm, "nodes");
        EXPECT_EQ(plan.placement, placement);
        // It is faster than the best flat program, whose messages share links.
        const std::vector<Seconds> times =
            arrivals.empty() ? std::vector<Seconds>(16, 0) : arrivals;
        const Plan flat = planned(name, problem, kGigabit, {}, arrivals);
        EXPECT_LT(mean_after_last(plan, kGigabit, times, placement),
                  mean_after_last(flat, kGigabit, times, placement));
      }
    }
  }
}

TEST(OnNodes, NothingChangesWhereEachRankHasANode) {
  Placement apart;
  for (Rank rank = 0; rank < 9; ++rank) apart.push_back(rank);
  for (const Collective collective : all_collectives()) {
    const Problem problem{collective, 9, 20000, 4};
    for (const std::string_view name : {"fastest", "auto"}) {
      const Plan without = planned(name, problem, kGigabit, {}, one_late(9));
      EXPECT_NE(without.algorithm, "nodes");
      EXPECT_EQ(planned(name, problem, kGigabit, apart, one_late(9)), without);
      const Algorithm& row = find_algorithm(collective, name);
      EXPECT_EQ(planning_cost(row, problem, kGigabit, apart),
                planning_cost(row, problem, kGigabit));
    }
    for (const Algorithm& row : registry(collective)) {
      EXPECT_EQ(competes_on(row, apart), !row.lifts) << row.name;
      EXPECT_EQ(ways(row, problem, kGigabit, apart, false).size(), 1U);
    }
  }
}

TEST(OnNodes, CollectivesWithoutTheRowHavePricesOfSharedLinks) {
  const Placement placement = consecutive_placement(8, 4);
  for (const Collective collective : all_collectives()) {
    if (by_nodes(collective, placement)) continue;
    const Problem problem{collective, 8, 20000, 4};
    const Plan plan = planned("auto", problem, kGigabit, placement, one_late(8));
    const Plan apart = planned("auto", problem, kGigabit, {}, one_late(8));
    EXPECT_TRUE(plan.placement.empty());
    EXPECT_LE(mean_after_last(plan, kGigabit, one_late(8), placement),
              mean_after_last(apart, kGigabit, one_late(8), placement));
  }
}

// In the order of ranks: node by node if it is theirs, otherwise among all ranks.
TEST(OnNodes, OperatorsThatDoNotCommuteHaveCellsWhereNodesAreContiguous) {
  Problem problem = sum_of(8, 20000);
  problem.commutative = false;
  const Placement placement = consecutive_placement(8, 4);
  const Plan plan = planned("auto", problem, kGigabit, placement, one_late(8));
  EXPECT_EQ(plan.algorithm, "nodes");
  EXPECT_EQ(plan.placement, placement);
  EXPECT_EQ(plan.parameters.at("cells"), 1);
}

TEST(OnNodes, OperatorsThatDoNotCommuteGoAmongAllRanksOfOtherNodes) {
  Problem problem = sum_of(8, 20000);
  problem.commutative = false;
  const Placement placement = {0, 1, 0, 1, 0, 1, 0, 1};
  const Plan plan = planned("auto", problem, kGigabit, placement, one_late(8));
  EXPECT_EQ(plan.algorithm, "nodes");
  EXPECT_TRUE(plan.placement.empty());
  // Its messages share links.
  EXPECT_GT(balanced_time(plan, kGigabit, placement), 2 * balanced_time(plan, kGigabit));
}

TEST(OnNodes, PricesGrowWithTheVectorAndAreAboutThoseOfRuns) {
  for (const Network& network : {kGigabit, kHundredGigabit}) {
    for (const auto& [ranks, per_node] : {std::pair{8, 2}, {12, 12}, {24, 8}, {3000, 50}}) {
      const Placement placement = consecutive_placement(ranks, per_node);
      Seconds before = 0;
      for (Count count = 1; count < Count{1} << 23; count += 1 + count / 3) {
        const Plan plan = planned("fastest", sum_of(ranks, count), network, placement);
        const Seconds price = balanced_time(plan, network);
        EXPECT_GE(price, before) << ranks << " ranks, " << count;
        before = price;
        if (ranks > 24 || count > 500000) continue;
        const std::vector<Seconds> together(static_cast<std::size_t>(ranks), 0);
        const Seconds taken = mean_after_last(plan, network, together, placement);
        EXPECT_LT(price, 2 * taken + 1e-6) << ranks << " ranks, " << count;
        EXPECT_GT(price, taken / 2.5) << ranks << " ranks, " << count;
      }
    }
  }
}

TEST(OnNodes, ManyRanksArePricedWithoutARun) {
  const Rank ranks = 2000;
  const Placement placement = consecutive_placement(ranks, 50);
  const auto arrivals = one_late(ranks);
  const Plan plan = planned("auto", sum_of(ranks, 1 << 18), kGigabit, placement, arrivals);
  EXPECT_EQ(plan.algorithm, "nodes");
  const Seconds price = mean_after_last(plan, kGigabit, arrivals, placement);
  EXPECT_GT(price, kGigabit.beta * (1 << 20));
  EXPECT_LT(price, 4 * kGigabit.beta * (1 << 20));
}

// A tree in which most nodes leave long before the last one: the mean would hide that.
TEST(OnNodes, AllReducesWithoutARunArePricedByTheLastExit) {
  const Rank ranks = 300;
  const Placement placement = consecutive_placement(ranks, 30);
  const auto arrivals = one_late(ranks);
  const auto names = find_algorithm(Collective::allreduce, "nodes").parameters.front().choices;
  const auto among = std::find(names.begin(), names.end(), "sorted_linear_tree") - names.begin();
  Knowledge knowledge{arrivals, kGigabit};
  knowledge.placement = placement;
  const Plan plan = make_plan(find_algorithm(Collective::allreduce, "nodes"),
                              sum_of(ranks, 1 << 14), {{"among", among}}, knowledge);
  const auto of_nodes = arrivals_of_nodes(plan, Nodes(placement, ranks), arrivals);
  const std::vector<Seconds> exits = replay(plan.inner.front(), kGigabit, of_nodes);
  const Seconds last = std::ranges::max(exits) - std::ranges::max(of_nodes);
  EXPECT_GT(last, 1.05 * mean_after_last(plan.inner.front(), kGigabit, of_nodes));
  EXPECT_GE(mean_after_last(plan, kGigabit, arrivals, placement), last);
}

/// Each rival is a choice that plans another program among the nodes.
TEST(OnNodes, RivalsAreProgramsAmongTheNodes) {
  Knowledge knowledge{{}, kGigabit};
  knowledge.placement = consecutive_placement(16, 4);
  const Problem problem = sum_of(16, 1 << 18);
  const Plan fastest = planned("nodes", problem, kGigabit, knowledge.placement);
  const auto found = rivals(fastest, knowledge);
  EXPECT_GE(found.size(), 2U);
  for (const Rival& rival : found) {
    const Plan plan =
        make_plan(*rival.choice.algorithm, problem, rival.choice.parameters, knowledge);
    EXPECT_EQ(plan.algorithm, "nodes");
    EXPECT_EQ(plan.inner.front().algorithm, rival.name);
    EXPECT_NE(rival.name, fastest.inner.front().algorithm);
  }
  knowledge.placement = consecutive_placement(4, 4);
  EXPECT_TRUE(rivals(planned("nodes", sum_of(4, 1 << 18), kGigabit, knowledge.placement), knowledge)
                  .empty());
}

/// `generalized` sends the least, but its driver copies what is not in one place, and mates wait
/// for half of the vector at the begin and at the end.
TEST(OnNodes, WorkWithinNodesDecidesBetweenProgramsThatCostAboutTheSame) {
  Network network = kGigabit;
  network.local_beta = 0.1e-9;
  const Placement placement = consecutive_placement(16, 2);
  const Problem problem = sum_of(16, 1 << 22);
  const auto row = [&](const Network& costs) {
    return planned("nodes", problem, costs, placement).inner.front().algorithm;
  };
  EXPECT_EQ(planned("fastest", sum_of(8, 1 << 22), network, Placement{}).algorithm, "generalized");
  EXPECT_EQ(row(network), "segmented_ring");
}

/// For a short vector after one late rank a plan may let most ranks leave early and the last one
/// late.
TEST(OnNodes, AnAllreduceIsPricedByItsLastExit) {
  const Placement placement = consecutive_placement(16, 4);
  const Plan plan = planned("nodes", sum_of(16, 1 << 14), kGigabit, placement, one_late(16));
  const std::vector<Seconds> exits = replay(plan, kGigabit, one_late(16), placement);
  EXPECT_EQ(mean_after_last(plan, kGigabit, one_late(16), placement),
            std::ranges::max(exits) - 20e-3);
}

TEST(OnNodes, PlanningCountsTheOperationsOnMemory) {
  const Algorithm& row = find_algorithm(Collective::allreduce, "nodes");
  const Placement placement = consecutive_placement(16, 4);
  const Seconds brief = planning_cost(row, sum_of(16, 100), kGigabit, placement);
  const Seconds longer = planning_cost(row, sum_of(16, 1 << 20), kGigabit, placement);
  EXPECT_GT(brief, 0);
  EXPECT_GT(longer, 1.5 * brief);
  for (const Count count : {100, 1 << 20}) {
    const Plan plan = planned("nodes", sum_of(16, count), kGigabit, placement);
    Count most = 0;
    for (Rank rank = 0; rank < 16; ++rank) {
      Count found = 0;
      for (const Operation& op : build_program(plan, rank).operations) {
        const bool copies = op.kind == OpKind::copy && op.source.buffer == Buffer::node;
        if (has_flag(op) || copies) ++found;
      }
      most = std::max(most, found);
    }
    EXPECT_GE(operations_on_node(plan), most);
    EXPECT_LE(operations_on_node(plan), 3 * most);
    EXPECT_GT(memory_of(plan), memory_of(plan.inner.front()));
  }
}

}  // namespace
}  // namespace latecomer
