#include "algorithms/nodes/node_order.hpp"

#include "algorithms/nodes/plans.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/transfers/transfers.hpp"

namespace latecomer {

bool fits_node_by_node(const Problem& problem, const Placement& placement) {
  return shares_nodes(placement) && problem.count > 0 && problem.bytes() <= kMaxNodeBytes &&
         2 * problem.ranks <= kMaxNodeFlags;
}

std::vector<Problem> nodes_parts(const Plan& plan, const Nodes& nodes) {
  const Problem& problem = plan.problem;
  Problem among = problem_among(problem, nodes, problem.count);
  among.parts.assign(static_cast<std::size_t>(nodes.count()), 0);
  const std::vector<Range> parts = transfers::parts_of(problem);
  for (Rank rank = 0; rank < problem.ranks; ++rank) {
    among.parts[static_cast<std::size_t>(nodes.node(rank))] +=
        parts[static_cast<std::size_t>(rank)].count;
  }
  return {among};
}

Cost cost_of_parts(const Plan& plan) {
  return plan.inner.empty() ? Cost{} : cost_of(plan.inner.front());
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

std::vector<NodeOrder::Stretch> NodeOrder::stretches(Rank node) const {
  std::vector<Stretch> all;
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

PartFlags::PartFlags(const NodeRank& rank, const NodeOrder& order, const Slice& vector,
                     Builder& builder)
    : rank_(rank), order_(order), vector_(vector), builder_(builder) {
  for (Rank mate = 0; mate < rank.mates() && !rank.alone(); ++mate) {
    flags_.push_back(builder.flag());
  }
}

std::int32_t PartFlags::flag(Rank mate) const {
  return flags_[static_cast<std::size_t>(rank_.nodes().place(mate))];
}

void PartFlags::signal(Rank mate) const {
  if (!rank_.alone()) builder_.signal(slice_of(vector_, order_.place(mate)), flag(mate));
}

void PartFlags::await(Rank mate) const {
  builder_.await(slice_of(vector_, order_.place(mate)), flag(mate), 1);
}

std::vector<OpIndex> PartFlags::await_mates(bool tells) const {
  std::vector<OpIndex> known;
  for (const Rank mate : rank_.nodes().ranks(rank_.node())) {
    if (mate == rank_.me()) continue;
    await(mate);
    if (!tells) continue;
    builder_.piggyback_last();
    known.push_back(builder_.last());
  }
  return known;
}

NodeFlags::NodeFlags(const NodeRank& rank, const NodeOrder& order, const Slice& vector,
                     Builder& builder)
    : order_(order), vector_(vector), builder_(builder) {
  for (Rank node = 0; node < rank.nodes().count() && !rank.alone(); ++node) {
    flags_.push_back(builder.flag());
  }
}

void NodeFlags::signal(Rank node) const {
  builder_.signal(slice_of(vector_, order_.of_node(node)), flags_[static_cast<std::size_t>(node)]);
}

void NodeFlags::await(Rank node) const {
  builder_.await(slice_of(vector_, order_.of_node(node)), flags_[static_cast<std::size_t>(node)],
                 1);
}

}  // namespace latecomer
