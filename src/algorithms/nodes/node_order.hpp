// Vectors of parts, one of each rank, in a node's buffer: node by node, so that the parts of a
// node's ranks are one stretch, which is the node's part among the nodes.
#pragma once

#include <vector>

#include "algorithms/cost.hpp"
#include "algorithms/nodes/node_rank.hpp"

namespace latecomer {

/// Whether ranks share nodes and the vector fits in their buffers.
[[nodiscard]] bool fits_node_by_node(const Problem& problem, const Placement& placement);
/// The problem among the nodes.
[[nodiscard]] std::vector<Problem> nodes_parts(const Plan& plan, const Nodes& nodes);
/// The cost among the nodes or among all ranks.
[[nodiscard]] Cost cost_of_parts(const Plan& plan);

class NodeOrder {
 public:
  NodeOrder(const Problem& problem, const NodeRank& rank);

  /// A rank's part as a range of the vector, and its place in the order of nodes.
  [[nodiscard]] Range part(Rank rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Range place(Rank rank) const { return places_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Range of_node(Rank node) const { return nodes_[static_cast<std::size_t>(node)]; }
  /// True if the order of nodes is the order of ranks.
  [[nodiscard]] bool is_that_of_ranks() const { return rank_.nodes().contiguous(); }

  /// Reserves a vector in the order of nodes: the node's buffer, or scratch of a rank that has no
  /// mates.
  [[nodiscard]] Slice reserve(Builder& builder) const;
  /// The slice of a whole vector that holds this rank's part alone.
  [[nodiscard]] Slice around(const Slice& own) const;

  /// A stretch of the vector in both orders.
  struct Stretch {
    Range in_place;  // in the order of nodes
    Range in_vector;
  };
  /// A node's part, as few stretches as it takes.
  [[nodiscard]] std::vector<Stretch> stretches(Rank node) const;

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

/// A flag for each rank of a node: its part is in the node's buffer.
class PartFlags {
 public:
  PartFlags(const NodeRank& rank, const NodeOrder& order, const Slice& vector, Builder& builder);

  void signal(Rank mate) const;
  void await(Rank mate) const;
  /// Awaits the parts of all mates but this rank. `tells`: and takes their arrival stamps; returns
  /// the operations after which these are known.
  std::vector<OpIndex> await_mates(bool tells) const;

 private:
  [[nodiscard]] std::int32_t flag(Rank mate) const;

  const NodeRank& rank_;
  const NodeOrder& order_;
  Slice vector_;
  Builder& builder_;
  std::vector<std::int32_t> flags_;
};

/// A flag for each node: its part is in the node's buffer, as this node's driver leaves it.
class NodeFlags {
 public:
  NodeFlags(const NodeRank& rank, const NodeOrder& order, const Slice& vector, Builder& builder);

  void signal(Rank node) const;
  void await(Rank node) const;

 private:
  const NodeOrder& order_;
  Slice vector_;
  Builder& builder_;
  std::vector<std::int32_t> flags_;
};

}  // namespace latecomer
