// Vectors of parts, one of each rank, in a node's buffer: node by node, so that the parts of a
// node's ranks follow each other, and are the node's part among the nodes.
#pragma once

#include <vector>

#include "algorithms/nodes/flags.hpp"
#include "algorithms/nodes/lift.hpp"

namespace latecomer {

/// True if ranks share nodes and the vector fits in their buffers.
[[nodiscard]] bool fits_node_by_node(const Problem& problem, const Placement& placement);
/// The problem among the nodes.
[[nodiscard]] Problem nodes_parts(const Plan& plan, const Nodes& nodes);

class NodeOrder {
 public:
  NodeOrder(const Problem& problem, const NodeRank& rank);

  /// A rank's part as a range of the vector, and its place in the order of nodes.
  [[nodiscard]] Range part(Rank rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Range place(Rank rank) const { return places_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Range of_node(Rank node) const { return nodes_[static_cast<std::size_t>(node)]; }
  /// True if the order of nodes is the order of ranks.
  [[nodiscard]] bool is_that_of_ranks() const { return rank_.nodes().contiguous(); }

  /// Reserves a vector in the order of nodes: the node's buffer, or scratch of a rank that is
  /// alone.
  [[nodiscard]] Slice reserve(Builder& builder) const;
  /// The slice of a whole vector that holds this rank's part alone.
  [[nodiscard]] Slice around(const Slice& own) const;
  /// A flag for the part of each rank of this node, and for the parts of each node; none if the
  /// rank is alone.
  [[nodiscard]] Flags flags_of_ranks(const Slice& vector, Builder& builder) const;
  [[nodiscard]] Flags flags_of_nodes(const Slice& vector, Builder& builder) const;

  /// Elements that follow each other in both orders.
  struct Block {
    Range in_place;  // in the order of nodes
    Range in_vector;
  };
  /// A node's parts, in as few blocks as it takes.
  [[nodiscard]] std::vector<Block> blocks(Rank node) const;

 private:
  const NodeRank& rank_;
  Count count_;
  std::vector<Range> parts_;
  std::vector<Range> places_;
  std::vector<Range> nodes_;
};

[[nodiscard]] inline Slice slice_of(const Slice& vector, Range place) {
  return vector.part(place.begin, place.count);
}

}  // namespace latecomer
