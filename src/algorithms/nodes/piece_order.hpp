// The orders in which a node's ranks add and copy the pieces of a wave. A program among the nodes
// does not go through the vector from its begin to its end: of a ring's ranks each sends another
// segment first.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/nodes/cut.hpp"

namespace latecomer {

struct PieceOrder {
  std::vector<Count> used;    // as the node's program first touches the pieces
  std::vector<Count> result;  // as it leaves them at last
};

/// `inner`: the plan among the nodes for the wave, in place. All ranks of the node find the same.
[[nodiscard]] std::shared_ptr<const PieceOrder> piece_order(const Plan& inner, Rank node,
                                                            const Wave& wave);

}  // namespace latecomer
