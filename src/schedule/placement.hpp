// The placement of ranks: which of them share a node, and so memory. An entry a rank, the number of
// its node; nodes are numbered in the order of their first ranks. Empty: every rank has a node of
// its own, or it is unknown.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace latecomer {

using Placement = std::vector<Rank>;

/// Throws Error unless the placement is empty or has an entry for each rank, numbered as above.
void check_placement(const Placement& placement, Rank ranks);
/// Renumbers nodes in the order of their first ranks.
[[nodiscard]] Placement numbered(std::span<const Rank> nodes);
/// Consecutive ranks share a node, `per_node` each; empty for 1.
[[nodiscard]] Placement consecutive_placement(Rank ranks, Rank per_node);
/// True if two ranks share a node.
[[nodiscard]] bool shares_nodes(const Placement& placement);
/// Reads "0,0,1,1" (a node for each rank, named by any number). Throws Error naming the part that
/// cannot be read.
[[nodiscard]] Placement parse_placement(std::string_view text, Rank ranks);

/// The nodes of a placement, with their ranks.
class Nodes {
 public:
  /// Throws as check_placement().
  Nodes(const Placement& placement, Rank ranks);

  [[nodiscard]] Rank count() const { return static_cast<Rank>(ranks_.size()); }
  [[nodiscard]] Rank node(Rank rank) const { return node_[static_cast<std::size_t>(rank)]; }
  /// The ranks of a node, ascending.
  [[nodiscard]] const std::vector<Rank>& ranks(Rank node) const {
    return ranks_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] Rank size(Rank node) const { return static_cast<Rank>(ranks(node).size()); }
  /// The number of lower ranks on the same node.
  [[nodiscard]] Rank place(Rank rank) const { return place_[static_cast<std::size_t>(rank)]; }
  /// The number of ranks of the fullest node.
  [[nodiscard]] Rank most() const;
  /// True if the ranks of each node follow each other: node by node is in the order of ranks.
  [[nodiscard]] bool contiguous() const;

 private:
  std::vector<Rank> node_;
  std::vector<Rank> place_;
  std::vector<std::vector<Rank>> ranks_;
};

}  // namespace latecomer
