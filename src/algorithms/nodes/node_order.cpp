#include "algorithms/nodes/node_order.hpp"

#include "algorithms/nodes/lift.hpp"
#include "algorithms/transfers/transfers.hpp"

namespace latecomer {

bool fits_node_by_node(const Problem& problem, const Placement& placement) {
  return shares_nodes(placement) && problem.count > 0 && problem.bytes() <= kMaxNodeBytes &&
         2 * problem.ranks <= kMaxNodeFlags;
}

Problem nodes_parts(const Plan& plan, const Nodes& nodes) {
  const Problem& problem = plan.problem;
  Problem among = problem_among(problem, nodes, problem.count);
  among.parts.assign(static_cast<std::size_t>(nodes.count()), 0);
  const std::vector<Range> parts = transfers::parts_of(problem);
  for (Rank rank = 0; rank < problem.ranks; ++rank) {
    among.parts[static_cast<std::size_t>(nodes.node(rank))] +=
        parts[static_cast<std::size_t>(rank)].count;
  }
  return among;
}

NodeOrder::NodeOrder(const Problem& problem, const NodeRank& rank)
    : rank_(rank),
      count_(problem.count),
      parts_(transfers::parts_of(problem)),
      places_(parts_.size()) {
  Count begin = 0;
  for (Rank node = 0; node < rank.nodes().count(); ++node) {
    const Count first = begin;
    for (const Rank each : rank.nodes().ranks(node)) {
      places_[static_cast<std::size_t>(each)] = {begin, part(each).count};
      begin += part(each).count;
    }
    nodes_.push_back({first, begin - first});
  }
}

Slice NodeOrder::reserve(Builder& builder) const {
  return rank_.alone() ? builder.scratch(count_) : builder.node(count_);
}

Slice NodeOrder::around(const Slice& own) const {
  return {own.buffer, own.begin - place(rank_.me()).begin, count_};
}

Flags NodeOrder::flags_of_ranks(const Slice& vector, Builder& builder) const {
  std::vector<Slice> slices;
  if (rank_.alone()) return {};
  for (const Rank each : rank_.nodes().ranks(rank_.node())) {
    slices.push_back(slice_of(vector, place(each)));
  }
  return {std::move(slices), builder};
}

Flags NodeOrder::flags_of_nodes(const Slice& vector, Builder& builder) const {
  std::vector<Slice> slices;
  if (rank_.alone()) return {};
  for (const Range node : nodes_) slices.push_back(slice_of(vector, node));
  return {std::move(slices), builder};
}

std::vector<NodeOrder::Block> NodeOrder::blocks(Rank node) const {
  std::vector<Block> all;
  for (const Rank rank : rank_.nodes().ranks(node)) {
    if (part(rank).empty()) continue;
    if (!all.empty() && all.back().in_vector.end() == part(rank).begin) {
      all.back().in_place.count += part(rank).count;
      all.back().in_vector.count += part(rank).count;
    } else {
      all.push_back({place(rank), part(rank)});
    }
  }
  return all;
}

}  // namespace latecomer
