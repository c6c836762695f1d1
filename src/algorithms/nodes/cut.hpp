// The cut of a vector that all ranks share as a whole. It goes through the node's buffer in waves,
// if it is longer than that; each wave in pieces, which leave the node one by one; and ranks add to
// a piece slice by slice. On fast links it has lanes: parts of a wave, each with a driver of its
// own. Ranks add to one vector, or each has a cell, a part of the buffer for its own vector: then
// vectors are combined in the order of ranks.
#pragma once

#include <vector>

#include "algorithms/nodes/lift.hpp"
#include "algorithms/row.hpp"
#include "base/partition.hpp"
#include "schedule/placement.hpp"
#include "schedule/plan.hpp"

namespace latecomer {

inline constexpr Count kShortestSlice = 4096;   // bytes that a rank adds at once
inline constexpr Count kShortestPiece = 32768;  // bytes that leave as soon as they are complete
inline constexpr Count kMostPieces = 64;

/// The waves of a vector of which the node's buffer holds so many copies.
[[nodiscard]] Count number_of_waves(const Problem& problem, Count copies = 1);
/// True if ranks share nodes and the vector goes through their buffers.
[[nodiscard]] bool goes_in_waves(const Problem& problem, const Placement& placement);
/// The problems among the nodes for waves of one length or two.
[[nodiscard]] std::vector<Problem> waves_among(const Plan& plan, const Nodes& nodes);
/// The sum of the waves' costs among the nodes.
[[nodiscard]] Cost cost_of_waves(const Plan& plan);

[[nodiscard]] bool has_cells(const Plan& plan);
/// The vectors side by side in the buffer of the fullest node.
[[nodiscard]] Count copies_of(const Plan& plan, const Nodes& nodes);
/// The drivers of a node: each carries out the program among the nodes for a part of the vector.
[[nodiscard]] Count lanes_of(const Plan& plan);
/// True if the expected arrivals differ by more than a quarter of a transfer of the vector: then
/// lanes are of no use.
[[nodiscard]] bool apart(const Problem& problem, const Knowledge& knowledge);

[[nodiscard]] Parameter pieces_parameter();
[[nodiscard]] Parameter cells_parameter();
[[nodiscard]] Parameter lanes_parameter();
/// Cells of long vectors would need more waves than there are flags: these have none.
void fill_cells(Plan& plan, const Placement& placement);
/// Several lanes where one process cannot fill the node's link, because it takes longer to combine
/// what it receives than the link to bring it.
void fill_lanes(Plan& plan, const Knowledge& knowledge);
/// Fills in the number of pieces, once the plan has its placement.
void fill_pieces(Plan& plan);

/// The numbers of waves of the vector, of their lanes, of pieces of a lane, and of slices of a
/// piece.
struct Cut {
  Cut(const Plan& plan, const Nodes& nodes);

  Count waves;
  Count lanes;
  Count pieces;
  Count slices;
};

/// A wave of the vector, or one lane's part of it.
struct Wave {
  Count number = 0;
  bool last = false;
  Range range;      // of the vector
  Count begin = 0;  // in the node's buffer
  Count lane = 0;
  Count pieces = 1;
  Count slices = 1;
  Count stride = 0;  // from one rank's cell to the next; 0: there are none

  /// A piece in the node's buffer, and as a range of the vector.
  [[nodiscard]] Slice piece(Count piece) const;
  [[nodiscard]] Range vector(Count piece) const;
  [[nodiscard]] Slice slice(Count piece, Count slice) const;
  [[nodiscard]] Range vector(const Slice& in_buffer) const {
    return {range.begin + in_buffer.begin - begin, in_buffer.count};
  }
  [[nodiscard]] Slice whole() const { return {Buffer::node, begin, range.count}; }
  /// The elements of a slice of the result in the cell of the rank at a place of the node, of
  /// `ranks`. The result is formed in the last cell.
  [[nodiscard]] Slice cell(const Slice& of_result, Rank place, Rank ranks) const {
    return {Buffer::node, of_result.begin - (ranks - 1 - place) * stride, of_result.count};
  }
  /// A flag for each piece, and one for the end of its use: the next wave overwrites all cells.
  [[nodiscard]] Flags flags(Builder& builder) const { return {all_pieces(), builder}; }
  [[nodiscard]] Flags flags_of_use(Builder& builder) const {
    return {all_pieces(), builder, stride > 0};
  }

 private:
  [[nodiscard]] std::vector<Slice> all_pieces() const;
};

/// The waves of a plan, lane by lane; reserves the node's buffer if several ranks share it.
[[nodiscard]] std::vector<std::vector<Wave>> waves_of(const Plan& plan, const NodeRank& rank,
                                                      Builder& builder);
/// The plan among the nodes for a lane of a wave. The first lane carries the arrival stamps.
[[nodiscard]] Plan plan_of(const Plan& plan, const Wave& wave);

// The drivers of nodes: which ranks they are, and when a node is there.

/// The ranks of each node that are expected first; of equal ones the root, otherwise the lowest. A
/// rank that comes later than the first one by more than `patience` drives no lane.
[[nodiscard]] std::vector<Count> choose_drivers(const Problem& problem, const Nodes& nodes,
                                                Count lanes, const std::vector<Seconds>& arrivals,
                                                Seconds patience);
/// Throws Error unless the plan's table has a driver for each lane of each node.
void check_drivers(const Plan& plan, const Nodes& nodes);

/// The arrivals of nodes. A node contributes when its last rank is there; one that only receives,
/// or has the root as its driver, begins with its driver.
[[nodiscard]] std::vector<Seconds> arrivals_of_nodes(const Plan& plan, const Nodes& nodes,
                                                     const std::vector<Seconds>& arrivals);

}  // namespace latecomer
