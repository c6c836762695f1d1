// Programs of nodes, carried out by the nodes' drivers.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "algorithms/nodes/cut.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "price/price.hpp"
#include "schedule/placement.hpp"

namespace latecomer {
namespace {

constexpr Network kGigabit{
    .alpha = 50e-6, .beta = 8e-9, .gamma = 0.1e-9, .local_alpha = 0.2e-6, .local_beta = 0.1e-9};
constexpr Rank kNodes = 4;
constexpr Rank kPerNode = 2;
constexpr Count kCount = 16384;

Seconds last_exit(std::string_view row, const Parameters& parameters, Rank ranks,
                  const std::vector<Seconds>& arrivals, const Placement& placement) {
  const Problem problem{Collective::allreduce, ranks, kCount, 4};
  Knowledge knowledge{{}, kGigabit};
  knowledge.placement = placement;
  const Plan plan =
      make_plan(find_algorithm(problem.collective, row), problem, parameters, knowledge);
  return std::ranges::max(replay(plan, kGigabit, arrivals, placement));
}

Count number_of(std::string_view among) {
  for (const Parameter& each : find_algorithm(Collective::allreduce, "nodes").parameters) {
    if (each.name != "among") continue;
    return std::ranges::find(each.choices, among) - each.choices.begin();
  }
  return -1;
}

/// Each rank has a part of the buffer only where waves of that length have flags enough.
TEST(Lift, VectorsTooLongForCellsHaveNone) {
  for (const Rank per_node : {2, 16, 64, 128}) {
    for (const Count count : {Count{1000}, Count{100'000}, Count{2'000'000}, Count{8'000'000},
                              Count{10'000'000}, Count{200'000'000}}) {
      SCOPED_TRACE(std::to_string(per_node) + " a node, " + std::to_string(count));
      const Problem problem{Collective::allreduce, 2 * per_node, count, 4};
      Knowledge knowledge{{}, kGigabit};
      knowledge.placement = consecutive_placement(problem.ranks, per_node);
      const Plan plan = make_plan(find_algorithm(problem.collective, "nodes"), problem,
                                  {{"cells", 1}}, knowledge);
      const Nodes nodes(plan.placement, problem.ranks);
      const Cut cut(plan, nodes);
      const Count cells = plan.parameters.at("cells");
      EXPECT_GE(cut.slices, 1);
      EXPECT_LE(cut.waves * cut.lanes * cut.pieces * (2 + cut.slices + cells * per_node),
                kMaxNodeFlags);
      if (count < 1'000'000) EXPECT_EQ(cells, 1);
      if (count >= 8'000'000 && per_node >= 64) EXPECT_EQ(cells, 0);
    }
  }
}

/// The parts of the sum of a node whose last rank is late are ready within microseconds, in an
/// order of their own. Messages leave in the order of the nodes' program all the same: one that
/// goes too early costs the others as much as it takes itself, here half a millisecond.
TEST(Lift, MessagesKeepTheOrderOfTheNodesProgram) {
  const Placement placement = consecutive_placement(kNodes * kPerNode, kPerNode);
  for (const std::string_view among : {"generalized", "rabenseifner", "circulant", "ring"}) {
    for (const Count pieces : {1, 2, 4}) {
      for (Rank late = 0; late < kNodes * kPerNode; ++late) {
        std::vector<Seconds> of_ranks(kNodes * kPerNode);
        std::vector<Seconds> of_nodes(kNodes);
        of_ranks[static_cast<std::size_t>(late)] = 2e-3;
        of_nodes[static_cast<std::size_t>(late / kPerNode)] = 2e-3;
        const Seconds nodes = last_exit("nodes", {{"among", number_of(among)}, {"pieces", pieces}},
                                        kNodes * kPerNode, of_ranks, placement);
        const Seconds ranks = last_exit(among, {}, kNodes, of_nodes, {});
        EXPECT_LT(nodes, ranks + 0.03e-3) << among << " pieces=" << pieces << " late=" << late;
      }
    }
  }
}

}  // namespace
}  // namespace latecomer
