#include "schedule/placement.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace latecomer {

void check_placement(const Placement& placement, Rank ranks) {
  if (placement.empty()) return;
  if (placement.size() != static_cast<std::size_t>(ranks)) {
    throw Error("placement", std::to_string(placement.size()) + " ranks",
                "a node for each of the " + std::to_string(ranks) + " ranks");
  }
  Rank nodes = 0;
  for (const Rank node : placement) {
    if (node < 0 || node > nodes) {
      throw Error("placement", "node " + std::to_string(node),
                  "nodes numbered from 0 in the order of their first ranks");
    }
    nodes = std::max(nodes, node + 1);
  }
}

Placement numbered(std::span<const Rank> nodes) {
  std::map<Rank, Rank> numbers;
  Placement placement;
  for (const Rank node : nodes) {
    placement.push_back(numbers.try_emplace(node, static_cast<Rank>(numbers.size())).first->second);
  }
  return placement;
}

Placement consecutive_placement(Rank ranks, Rank per_node) {
  Placement placement;
  if (per_node <= 1) return placement;
  for (Rank rank = 0; rank < ranks; ++rank) placement.push_back(rank / per_node);
  return placement;
}

bool shares_nodes(const Placement& placement) {
  return !placement.empty() && *std::max_element(placement.begin(), placement.end()) + 1 <
                                   static_cast<Rank>(placement.size());
}

Placement parse_placement(std::string_view text, Rank ranks) {
  std::vector<Rank> nodes;
  for (const std::string_view word : split(text, ',')) {
    nodes.push_back(parse_rank("node of a rank", word, 0));
  }
  Placement placement = numbered(nodes);
  check_placement(placement, ranks);
  return placement;
}

Nodes::Nodes(const Placement& placement, Rank ranks) : node_(placement) {
  check_placement(placement, ranks);
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (placement.empty()) node_.push_back(rank);
    const auto node = static_cast<std::size_t>(node_[static_cast<std::size_t>(rank)]);
    if (node >= ranks_.size()) ranks_.resize(node + 1);
    place_.push_back(static_cast<Rank>(ranks_[node].size()));
    ranks_[node].push_back(rank);
  }
}

Rank Nodes::most() const {
  Rank most = 0;
  for (const auto& ranks : ranks_) most = std::max(most, static_cast<Rank>(ranks.size()));
  return most;
}

bool Nodes::contiguous() const { return std::is_sorted(node_.begin(), node_.end()); }

}  // namespace latecomer
