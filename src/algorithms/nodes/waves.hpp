// Vectors that all ranks share as a whole go through the node's buffer in waves, if they are longer
// than it, and each wave in pieces, which leave the node one by one.
#pragma once

#include <vector>

#include "algorithms/nodes/node_rank.hpp"
#include "algorithms/row.hpp"
#include "base/partition.hpp"

namespace latecomer {

/// Of a vector that has the node's buffer for itself.
[[nodiscard]] Count number_of_waves(const Problem& problem);
/// Whether ranks share nodes and the vector goes through their buffers.
[[nodiscard]] bool goes_in_waves(const Problem& problem, const Placement& placement);
/// The problems among the nodes for waves of one length or two.
[[nodiscard]] std::vector<Problem> waves_among(const Plan& plan, const Nodes& nodes);
/// The sum of the waves' costs among the nodes.
[[nodiscard]] Cost cost_of_waves(const Plan& plan);

/// Whether ranks take turns at slices of a piece.
enum class Turns : std::uint8_t { none, slices };

/// Fills in the number of lanes: several where one process cannot fill the node's link, because it
/// takes longer to combine what it receives than the link to bring it.
void fill_lanes(Plan& plan, const Knowledge& knowledge);
[[nodiscard]] Parameter pieces_parameter();
/// Fills in the number of pieces, once the plan has its placement.
void fill_pieces(Plan& plan, Turns turns);

/// The numbers of waves of the vector, of pieces of a lane of a wave, and of slices of a piece.
struct Cuts {
  Cuts(const Plan& plan, const Nodes& nodes, Turns turns);

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
  Count stride = 0;  // from one rank's cell to the next; 0: there are none (cells.hpp)

  /// A piece in the node's buffer, and as a range of the vector.
  [[nodiscard]] Slice piece(Count piece) const;
  [[nodiscard]] Range vector(Count piece) const;
  [[nodiscard]] Slice slice(Count piece, Count slice) const;
  [[nodiscard]] Range vector(const Slice& in_buffer) const {
    return {range.begin + in_buffer.begin - begin, in_buffer.count};
  }
  [[nodiscard]] Slice whole() const { return {Buffer::node, begin, range.count}; }
  /// The elements of a slice of the result in the cell of the rank at a place of the node, of
  /// `mates`. The result is formed in the last cell.
  [[nodiscard]] Slice cell(const Slice& of_result, Rank place, Rank mates) const {
    return {Buffer::node, of_result.begin - (mates - 1 - place) * stride, of_result.count};
  }
};

/// The waves of a plan with one lane; reserves the node's buffer if several ranks share it.
[[nodiscard]] std::vector<Wave> waves_of(const Plan& plan, const NodeRank& rank, Turns turns,
                                         Builder& builder);
/// The waves of a plan, lane by lane.
[[nodiscard]] std::vector<std::vector<Wave>> lanes_of_waves(const Plan& plan, const NodeRank& rank,
                                                            Turns turns, Builder& builder);
/// The plan among the nodes for a lane of a wave. The first lane carries the arrival stamps.
[[nodiscard]] Plan plan_of(const Plan& plan, const Wave& wave);

/// A flag for each piece of a wave. All ranks of a node reserve alike.
class PieceFlags {
 public:
  PieceFlags() = default;
  PieceFlags(const Wave& wave, Builder& builder);

  [[nodiscard]] bool empty() const { return flags_.empty(); }
  [[nodiscard]] std::int32_t flag(Count piece) const {
    return flags_[static_cast<std::size_t>(piece)];
  }
  /// Signals each piece as this rank leaves it.
  void signal(Builder& builder) const;
  void signal(Count piece, Builder& builder) const;
  void signal_end_of_use(Count piece, Builder& builder) const;
  void signal_end_of_use(Builder& builder) const;
  void await(Count piece, Rank count, Builder& builder) const;
  /// Awaits all pieces, before the buffer is written anew; nothing where there are no flags.
  void await(Rank count, Builder& builder) const;

 private:
  Wave wave_;
  std::vector<std::int32_t> flags_;
};

}  // namespace latecomer
