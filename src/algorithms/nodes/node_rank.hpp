// One rank of a program on nodes: its place on its node, and its share of the program among nodes.
#pragma once

#include <vector>

#include "algorithms/nodes/lift.hpp"
#include "schedule/builder.hpp"

namespace latecomer {

class NodeRank {
 public:
  NodeRank(const Plan& plan, Builder& builder);

  [[nodiscard]] const Nodes& nodes() const { return nodes_; }
  [[nodiscard]] Rank me() const { return builder_.me(); }
  [[nodiscard]] Rank node() const { return nodes().node(me()); }
  /// The number of ranks on its node.
  [[nodiscard]] Rank mates() const { return nodes().size(node()); }
  /// The number of lower ranks on its node.
  [[nodiscard]] Rank place() const { return nodes().place(me()); }
  [[nodiscard]] bool alone() const { return mates() == 1; }
  [[nodiscard]] bool one_node() const { return nodes().count() == 1; }
  /// Whether it carries out a program among nodes.
  [[nodiscard]] bool drives(Count lane = 0) const {
    return !one_node() && drivers(lane).drives(me());
  }
  /// The driver of its node, where there is one.
  [[nodiscard]] Rank driver(Count lane = 0) const { return drivers(lane).of(node()); }
  [[nodiscard]] bool root() const { return me() == plan_.problem.root; }
  [[nodiscard]] bool with_root() const { return node() == nodes().node(plan_.problem.root); }
  /// True if the root's node has another driver, which must hand the result over.
  [[nodiscard]] bool hands_over() const {
    return !one_node() && with_root() && driver() != plan_.problem.root;
  }

  /// Carries out the program of its node among the nodes, with the drivers of a lane.
  Lifted carry_out(const Plan& inner, const Vectors& vectors, bool in_place, Count lane = 0,
                   const std::vector<OpIndex>& stamps_known = {}) const;
  /// As in place on one slice.
  Lifted carry_out(const Plan& inner, const Slice& vector, Count lane = 0,
                   const std::vector<OpIndex>& stamps_known = {}) const {
    return carry_out(inner, {vector, vector}, true, lane, stamps_known);
  }
  /// The same on the rank's own buffers, for a node of one rank.
  Lifted carry_out_alone(const Plan& inner, Range wave, Count lane = 0) const;

 private:
  [[nodiscard]] Drivers drivers(Count lane) const;

  const Plan& plan_;
  Builder& builder_;
  Nodes nodes_;
};

}  // namespace latecomer
