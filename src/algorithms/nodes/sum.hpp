// The sum of the vectors of a node's ranks, in its buffer. Either ranks add to one vector as they
// come, in each piece beginning at different slices; or each has a cell, and the slices of a piece
// are combined by different ranks, in the order of ranks, into the last cell.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/nodes/cut.hpp"

namespace latecomer {

class Sum {
 public:
  Sum(const Wave& wave, const NodeRank& rank, Builder& builder);

  /// The flag that counts what was added to a slice.
  [[nodiscard]] std::int32_t flag(Count piece, Count slice) const {
    return flags_[static_cast<std::size_t>(piece * wave_.slices + slice)];
  }
  /// Adds a piece of this rank's vector. `tells`: with its arrival stamp.
  void add(Count piece, bool tells);
  /// Adds all of it.
  void add();
  /// Combines this rank's slices of a piece, if ranks have cells. Each rank calls it once for each
  /// piece, after it added that.
  void combine(Count piece, bool tells);
  void combine();
  /// Awaits a piece of all of them. Returns the operations after which their stamps are known, if
  /// they tell with this piece.
  std::vector<OpIndex> await(Count piece, bool tells) const;
  /// Awaits all pieces.
  void await() const;

 private:
  [[nodiscard]] bool cells() const { return wave_.stride > 0; }
  /// True if this rank combines such slices. The driver's come first.
  [[nodiscard]] bool combines(Count slice) const;
  [[nodiscard]] std::int32_t filled(Count piece, Rank place) const {
    return filled_[static_cast<std::size_t>(piece * rank_.size() + place)];
  }
  void combine_cells(const Slice& slice, Rank first, Rank end);

  Wave wave_;
  const NodeRank& rank_;
  Builder& builder_;
  std::vector<std::int32_t> flags_;   // of each slice: what was added, or that it is complete
  std::vector<std::int32_t> filled_;  // of each piece and cell
  std::vector<OpIndex> told_;         // the awaits of cells that carried arrival stamps
};

/// The orders in which a node's ranks add and copy the pieces of a wave. A program among the nodes
/// does not go through the vector from its begin to its end: of a ring's ranks each sends another
/// segment first.
struct PieceOrder {
  std::vector<Count> used;    // as the node's program first touches the pieces
  std::vector<Count> result;  // as it leaves them at last
};

/// `inner`: the plan among the nodes for the wave, in place. All ranks of the node find the same.
[[nodiscard]] std::shared_ptr<const PieceOrder> piece_order(const Plan& inner, Rank node,
                                                            const Wave& wave);

}  // namespace latecomer
