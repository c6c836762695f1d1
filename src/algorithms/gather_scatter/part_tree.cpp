#include "algorithms/gather_scatter/part_tree.hpp"

#include <algorithm>

#include "algorithms/transfers.hpp"
#include "patterns/powers.hpp"

namespace latecomer {

PartTree::PartTree(const Problem& parted, const std::vector<Rank>& order)
    : order_(order), begin_{0} {
  const std::vector<Range> parts = transfers::parts_of(parted);
  for (const Rank rank : order) {
    parts_.push_back(parts[rank]);
    begin_.push_back(begin_.back() + parts_.back().count);
  }
}

Rank PartTree::position(Rank rank) const {
  return static_cast<Rank>(std::ranges::find(order_, rank) - order_.begin());
}

Rank PartTree::end(Rank position) const {
  const Rank size = position == 0 ? ranks() : position & -position;
  return std::min<Rank>(position + size, ranks());
}

Count PartTree::elements(Rank position) const { return begin_[end(position)] - begin_[position]; }

Range PartTree::within(Rank above, Rank position) const {
  return {begin_[position] - begin_[above], elements(position)};
}

std::vector<Range> PartTree::stretches(Rank position) const {
  std::vector<Range> all;
  for (Rank at = position; at < end(position); ++at) {
    if (parts_[at].empty()) continue;
    const bool follows = !all.empty() && all.back().end() == parts_[at].begin;
    if (follows) {
      all.back().count += parts_[at].count;
    } else {
      all.push_back(parts_[at]);
    }
  }
  return all;
}

void PartTree::gather(const Slice& own, const std::vector<Count>& ready, Builder& builder) const {
  const Rank me = position(builder.me());
  TreeNode node = this->node(me);
  if (!ready.empty()) {
    std::ranges::sort(node.children, {}, [&](const auto& child) { return ready[child.rank]; });
  }
  if (node.root()) {
    builder.copy(own, builder.output(parts_[0]));
    for (const auto& [child, left] : node.children) {
      const std::vector<Range> places = stretches(child);
      const bool direct = places.size() == 1 && !builder.background();
      Slice landing = direct ? builder.output(places[0]) : builder.scratch(elements(child));
      builder.recv(rank(child), landing);
      if (direct) continue;
      for (const Range& place : places) {
        builder.copy(landing.part(0, place.count), builder.output(place));
        landing = landing.part(place.count, landing.count - place.count);
      }
    }
    return;
  }
  if (node.children.empty()) return builder.send(rank(node.parent), own);
  const Slice held = builder.scratch(elements(me));
  builder.copy(own, held.part(0, own.count));
  for (const auto& [child, left] : node.children) {
    const Range range = within(me, child);
    builder.recv(rank(child), held.part(range.begin, range.count));
  }
  builder.send(rank(node.parent), held);
}

void PartTree::scatter(Builder& builder) const {
  const Rank me = position(builder.me());
  TreeNode node = this->node(me);
  std::ranges::reverse(node.children);
  if (node.root()) {
    for (const auto& [child, left] : node.children) {
      const std::vector<Range> places = stretches(child);
      if (places.size() == 1) {
        builder.send_in_turn(rank(child), builder.input(places[0]));
        continue;
      }
      const Slice packed = builder.scratch(elements(child));
      Count filled = 0;
      for (const Range& place : places) {
        builder.copy(builder.input(place), packed.part(filled, place.count));
        filled += place.count;
      }
      builder.send_in_turn(rank(child), packed);
    }
    return builder.copy(builder.input(parts_[0]), builder.output(parts_[0]));
  }
  const Slice own = builder.output(parts_[me]);
  const bool direct = node.children.empty() && !builder.background();
  if (direct) return builder.recv(rank(node.parent), own);
  const Slice held = builder.scratch(elements(me));
  builder.recv(rank(node.parent), held);
  for (const auto& [child, left] : node.children) {
    const Range range = within(me, child);
    builder.send_in_turn(rank(child), held.part(range.begin, range.count));
  }
  builder.copy(held.part(0, own.count), own);
}

/// All parts except the root's pass its link.
Cost PartTree::cost() const { return {ceil_log2(ranks()), begin_.back() - parts_[0].count}; }

}  // namespace latecomer
