// The row of a collective on nodes. It lifts the collective's other programs: a rank puts what it
// has into its node's buffer, drivers carry out a program among the nodes on these buffers, and
// ranks take what they are to have out of them. A row gives these three steps, everything else
// follows from its collective. Where the memory of nodes is not used a plan is that of a row among
// all ranks.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "algorithms/nodes/cut.hpp"
#include "algorithms/nodes/lift.hpp"
#include "algorithms/row.hpp"

namespace latecomer {

// The choice of the row whose program runs among the nodes.

inline constexpr std::string_view kAmong = "among";  // the parameter

/// Those of the given parameters that the row has.
[[nodiscard]] inline Parameters parameters_for(const Algorithm& row, const Parameters& given) {
  Parameters taken;
  for (const Parameter& parameter : row.parameters) {
    const auto found = given.find(parameter.name);
    if (found != given.end() && found->second >= parameter.minimum) taken.insert(*found);
  }
  return taken;
}

/// The plan among nodes, chosen by price (src/price/among.cpp), for a problem of as many ranks as
/// there are nodes: by the row that `plan` names, if it takes the operator, with the plan's
/// parameters that the row has; otherwise by the cheapest one of balanced rows. Where the arrivals
/// differ it is the first of `aware` that takes the operator and is worth its planning; where they
/// do not, but nodes have lanes, the first one.
[[nodiscard]] Plan plan_among(Plan& plan, const Problem& problem, const Knowledge& knowledge,
                              std::span<const std::string_view> aware);

// Vectors of parts, one of each rank, in a node's buffer: node by node, so that the parts of a
// node's ranks follow each other, and are the node's part among the nodes.

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

/// `aware`: the rows among nodes that arrive apart, of which the first that is worth it is taken.
void fill_lifted(Plan& plan, const Knowledge& knowledge, std::span<const std::string_view> aware);
/// The program of a plan among all ranks.
void build_among_all(const Plan& plan, Builder& builder);
/// True if messages and flags tell all ranks of each other: where is said explicitly.
[[nodiscard]] inline bool tells_all(Collective collective) { return !rooted(collective); }
/// The row, but for what its steps add.
[[nodiscard]] Algorithm row_on_nodes(Collective collective);

/// The members that the steps of every row work with.
class StepsOfRank {
 public:
  StepsOfRank(const Plan& plan, const NodeRank& rank, Builder& builder)
      : plan_(plan), rank_(rank), builder_(builder) {}

 protected:
  const Plan& plan_;
  const NodeRank& rank_;
  Builder& builder_;
};

/// The same where vectors consist of parts.
class StepsOfParts : protected StepsOfRank {
 protected:
  StepsOfParts(const Plan& plan, const NodeRank& rank, Builder& builder)
      : StepsOfRank(plan, rank, builder), order_(plan.problem, rank) {}

  [[nodiscard]] Range all() const { return {0, plan_.problem.count}; }
  [[nodiscard]] Range part(Rank rank) const { return order_.part(rank); }
  /// A rank's part in the node's buffer.
  [[nodiscard]] Slice place(Rank rank) const { return slice_of(vector_, order_.place(rank)); }

  NodeOrder order_;
  Slice vector_;  // in the order of nodes
};

template <class Steps>
void take_steps(Steps& steps, const NodeRank& rank, const std::vector<Wave>& lanes) {
  steps.put_in();
  for (const Wave& lane : lanes) {
    if (rank.drives(lane.lane)) steps.carry_out(lane.lane);
  }
  steps.take_out();
}

/// Vectors go through the buffer at once or, if the row's steps begin waves, in waves.
template <class Steps>
void build_on_nodes(const Plan& plan, Builder& builder) {
  if (among_all(plan)) return build_among_all(plan, builder);
  const NodeRank rank(plan, builder);
  if (tells_all(plan.problem.collective)) builder.piggyback(false);
  Steps steps(plan, rank, builder);
  if constexpr (!requires(const std::vector<Wave>& lanes) { steps.begin(lanes); }) {
    take_steps(steps, rank, {Wave{}});
  } else {
    for (const std::vector<Wave>& lanes : waves_of(plan, rank, builder)) {
      if (rank.alone()) {
        for (const Wave& lane : lanes) {
          rank.carry_out_alone(plan_of(plan, lane), lane.range, lane.lane);
        }
        continue;
      }
      steps.begin(lanes);
      take_steps(steps, rank, lanes);
    }
  }
}

template <class Steps>
[[nodiscard]] Algorithm lifted_row() {
  Algorithm row = row_on_nodes(Steps::kCollective);
  row.fill_plan = [](Plan& plan, const Knowledge& knowledge) {
    fill_lifted(plan, knowledge, Steps::kAware);
  };
  row.build = build_on_nodes<Steps>;
  return row;
}

}  // namespace latecomer
