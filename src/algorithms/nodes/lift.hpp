// Lifts a program of the nodes to a program of their ranks: the node's driver, one of its ranks,
// carries out what the program does, on the buffer that the node's ranks share.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "schedule/builder.hpp"
#include "schedule/placement.hpp"

namespace latecomer {

// Flags of a node, one for each of some slices of its buffer.

/// All ranks of a node reserve alike. Where there are no slices nothing is signalled or awaited.
class Flags {
 public:
  Flags() = default;
  /// `from_begin`: who awaits a slice writes to all of the buffer up to its end.
  Flags(std::vector<Slice> slices, Builder& builder, bool from_begin = false)
      : slices_(std::move(slices)), builder_(&builder), from_begin_(from_begin) {
    for (std::size_t i = 0; i < slices_.size(); ++i) flags_.push_back(builder.flag());
  }

  [[nodiscard]] std::int32_t flag(Count i) const { return flags_[static_cast<std::size_t>(i)]; }
  /// Signals a slice as this rank leaves it, or the end of its use.
  void signal(Count i) const {
    if (!flags_.empty()) builder_->signal(slice(i), flag(i));
  }
  void signal_end_of_use(Count i) const {
    if (!flags_.empty()) builder_->signal_end_of_use(slice(i), flag(i));
  }
  void await(Count i, Rank count = 1) const {
    if (flags_.empty()) return;
    const Slice last = slice(i);
    builder_->await(from_begin_ ? Slice{last.buffer, 0, last.end()} : last, flag(i), count);
  }

  // All slices.
  void signal() const {
    for (Count i = 0; i < size(); ++i) signal(i);
  }
  void signal_end_of_use() const {
    for (Count i = 0; i < size(); ++i) signal_end_of_use(i);
  }
  void await_all(Rank count) const {
    for (Count i = 0; i < size(); ++i) await(i, count);
  }
  /// Awaits all slices but one. `tells`: and takes their arrival stamps; returns the operations
  /// after which these are known.
  std::vector<OpIndex> await_others(Count own, bool tells) const {
    std::vector<OpIndex> known;
    for (Count i = 0; i < size(); ++i) {
      if (i == own) continue;
      await(i);
      if (!tells) continue;
      builder_->piggyback_last();
      known.push_back(builder_->last());
    }
    return known;
  }

 private:
  [[nodiscard]] Count size() const { return static_cast<Count>(flags_.size()); }
  [[nodiscard]] const Slice& slice(Count i) const { return slices_[static_cast<std::size_t>(i)]; }

  std::vector<Slice> slices_;
  std::vector<std::int32_t> flags_;
  Builder* builder_ = nullptr;
  bool from_begin_ = false;
};

/// The plan's only inner plan is what its ranks do, and no memory of nodes is used.
[[nodiscard]] inline bool among_all(const Plan& plan) { return plan.placement.empty(); }

/// The problem among the nodes for `count` elements of the vector.
[[nodiscard]] Problem problem_among(const Problem& problem, const Nodes& nodes, Count count);

/// The ranks that carry out the messages of the nodes.
struct Drivers {
  const Nodes& nodes;
  std::span<const Count> rank_of;  // of each node

  [[nodiscard]] Rank of(Rank node) const {
    return static_cast<Rank>(rank_of[static_cast<std::size_t>(node)]);
  }
  [[nodiscard]] bool drives(Rank rank) const { return of(nodes.node(rank)) == rank; }
};

/// The slices that stand for the whole vector of the nodes' program, as its input and as its
/// output. In place both are the same.
struct Vectors {
  Slice input;
  Slice output;
};

struct Lifted {
  std::vector<OpIndex> told;  // the receives that carried arrival stamps
};

/// Adds the operations of this rank's node by the plan `inner`, for the node's driver. Its input
/// and output become slices of `vectors`; its messages go to the drivers of the other nodes.
/// Messages that carry arrival stamps wait for `stamps_known`.
Lifted lift(const Plan& inner, const Drivers& drivers, const Vectors& vectors,
            const std::vector<OpIndex>& stamps_known, Builder& builder);

/// One rank of a program on nodes: its place on its node, and what it does among the nodes.
class NodeRank {
 public:
  NodeRank(const Plan& plan, Builder& builder);

  [[nodiscard]] const Nodes& nodes() const { return nodes_; }
  [[nodiscard]] Rank me() const { return builder_.me(); }
  [[nodiscard]] Rank node() const { return nodes().node(me()); }
  /// The number of ranks on its node.
  [[nodiscard]] Rank size() const { return nodes().size(node()); }
  /// The number of lower ranks on its node.
  [[nodiscard]] Rank place() const { return nodes().place(me()); }
  [[nodiscard]] bool alone() const { return size() == 1; }
  [[nodiscard]] bool one_node() const { return nodes().count() == 1; }
  /// True if it carries out a program among nodes.
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
