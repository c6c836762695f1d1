// The order in which a node's ranks add and copy pieces.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/nodes/sum.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"

namespace latecomer {
namespace {

constexpr Rank kRing = 4;

std::shared_ptr<const PieceOrder> order_of(std::string_view row, Rank node, Count pieces) {
  Problem problem{Collective::allreduce, kRing, 4000, 4};
  problem.in_place = true;
  const Plan plan = make_plan(find_algorithm(problem.collective, row), problem, {}, {});
  Wave wave;
  wave.range = {0, problem.count};
  wave.pieces = pieces;
  return piece_order(plan, node, wave);
}

/// The first node of a ring sends its segment first, then those of the nodes before it; it has the
/// result of the segment after its own first.
TEST(PieceOrder, FollowsARing) {
  for (Rank node = 0; node < kRing; ++node) {
    const auto order = order_of("ring", node, kRing);
    const auto around = [&](Rank step) { return Count{(node + step + 2 * kRing) % kRing}; };
    EXPECT_EQ(order->used, (std::vector<Count>{around(0), around(-1), around(-2), around(-3)}));
    EXPECT_EQ(order->result, (std::vector<Count>{around(1), around(0), around(-1), around(-2)}));
  }
}

TEST(PieceOrder, HasEachPieceOnce) {
  for (const Algorithm& row : registry(Collective::allreduce)) {
    if (row.kind != Kind::program || row.name == "nodes") continue;
    for (const Count pieces : {1, 3, 7, 64}) {
      for (Rank node = 0; node < kRing; ++node) {
        const auto order = order_of(row.name, node, pieces);
        for (std::vector<Count> each : {order->used, order->result}) {
          std::ranges::sort(each);
          ASSERT_EQ(each.size(), static_cast<std::size_t>(pieces)) << row.name;
          for (Count i = 0; i < pieces; ++i) EXPECT_EQ(each[static_cast<std::size_t>(i)], i);
        }
      }
    }
  }
}

}  // namespace
}  // namespace latecomer
