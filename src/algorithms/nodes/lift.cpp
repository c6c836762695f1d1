#include "algorithms/nodes/lift.hpp"

#include <algorithm>
#include <cstdint>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"

namespace latecomer {
namespace {

/// Places slices of the nodes' program in the buffers of its driver.
class Places {
 public:
  Places(const Problem& problem, Rank node, const Vectors& vectors, const Slice& scratch)
      : input_(vectors.input.part(problem.input(node).begin, 0)),
        output_(vectors.output.part(problem.output(node).begin, 0)),
        scratch_(scratch) {}

  [[nodiscard]] Slice of(const Slice& slice) const {
    if (slice.empty()) return kNothing;
    const Slice& whole = slice.buffer == Buffer::input    ? input_
                         : slice.buffer == Buffer::output ? output_
                                                          : scratch_;
    return whole.part(slice.begin, slice.count);
  }

 private:
  Slice input_;  // from the first element on that the node holds
  Slice output_;
  Slice scratch_;
};

/// Keeps messages and combinations that hold parts of the node's sum in the order of the nodes'
/// program: where ranks are nodes, all parts are there at once. Here they come one by one, in their
/// own order. A message that is ready some microseconds too early takes the link from one that
/// others wait for, and a combination the core.
class PartsOrder {
 public:
  /// `first`: of the lifted operations.
  PartsOrder(Builder& builder, OpIndex first) : builder_(builder), first_(first) {}

  /// Called after each operation that was lifted.
  void added() {
    const OpIndex last = builder_.last();
    Holds holds = Holds::nothing;
    bool alone = builder_.kind(last) == OpKind::copy;
    bool in_turn = false;
    for (const OpIndex earlier : builder_.waits_of_last()) {
      const OpKind before = builder_.kind(earlier);
      const Holds held = before == OpKind::await ? Holds::parts
                         : earlier >= first_     ? holds_[earlier - first_]
                                                 : Holds::nothing;
      if (held == Holds::parts) note(earlier);
      holds = std::max(holds, held);
      alone = alone && held == Holds::parts;
      in_turn = in_turn || (before == OpKind::send && earlier >= first_);
    }
    if (holds == Holds::parts && !alone) holds = Holds::results;
    holds_.resize(last - first_ + 1, Holds::nothing);
    const OpKind kind = builder_.kind(last);
    const bool sends = kind == OpKind::send;
    if (!sends) holds_[last - first_] = holds;
    if ((sends || kind == OpKind::combine) && holds != Holds::nothing && !in_turn) {
      builder_.wait_also_for_all(parts_);
    }
  }

 private:
  /// The content that an operation leaves: parts of the sum as they are, or what was made of them.
  enum class Holds : std::uint8_t { nothing, parts, results };

  static constexpr std::size_t kMost = 64;  // more cost each send more than the order is worth

  void note(OpIndex part) {
    const auto place = std::lower_bound(parts_.begin(), parts_.end(), part);
    if (place != parts_.end() && *place == part) return;
    if (parts_.size() < kMost) parts_.insert(place, part);
  }

  Builder& builder_;
  OpIndex first_;
  std::vector<Holds> holds_;    // of each lifted operation
  std::vector<OpIndex> parts_;  // that earlier operations wait for: awaits, and copies of parts
};

}  // namespace

Problem problem_among(const Problem& problem, const Nodes& nodes, Count count) {
  Problem among = problem;
  among.ranks = nodes.count();
  among.count = count;
  among.in_place = true;
  if (rooted(problem.collective)) among.root = nodes.node(problem.root);
  return among;
}

Lifted lift(const Plan& inner, const Drivers& drivers, const Vectors& vectors,
            const std::vector<OpIndex>& stamps_known, Builder& builder) {
  const Rank node = drivers.nodes.node(builder.me());
  const Program program = build_program(inner, node);
  const Places places(inner.problem, node, vectors, builder.scratch(program.scratch_count));
  if (program.receiver_paced) builder.pace_by_receivers();
  Lifted lifted;
  std::vector<OpIndex> index_of(program.operations.size(), Builder::kNone);
  PartsOrder order(builder, builder.last() + 1);
  auto telling = program.piggybacking.begin();
  for (OpIndex i = 0; i < program.operations.size(); ++i) {
    Operation op = program.operations[i];
    if (op.kind == OpKind::arrive) continue;  // the awaits stand for it
    op.source = places.of(op.source);
    op.target = places.of(op.target);
    if (is_message(op)) op.peer = drivers.of(op.peer);
    builder.add_lifted(op);
    index_of[i] = builder.last();
    for (const OpIndex earlier : program.after[i]) {
      if (index_of[earlier] != Builder::kNone) builder.wait_also_for(index_of[earlier]);
    }
    order.added();
    if (telling == program.piggybacking.end() || *telling != i) continue;
    ++telling;
    builder.piggyback_last();
    if (op.kind == OpKind::send) builder.wait_also_for_all(stamps_known);
    if (op.kind == OpKind::recv) lifted.told.push_back(builder.last());
  }
  return lifted;
}

NodeRank::NodeRank(const Plan& plan, Builder& builder)
    : plan_(plan), builder_(builder), nodes_(plan.placement, plan.problem.ranks) {}

Drivers NodeRank::drivers(Count lane) const {
  const auto number = static_cast<std::size_t>(nodes_.count());
  return {nodes_, std::span(plan_.table).subspan(static_cast<std::size_t>(lane) * number, number)};
}

Lifted NodeRank::carry_out(const Plan& inner, const Vectors& vectors, bool in_place, Count lane,
                           const std::vector<OpIndex>& stamps_known) const {
  Plan local = inner;
  local.problem.in_place = in_place;
  return lift(local, drivers(lane), vectors, stamps_known, builder_);
}

Lifted NodeRank::carry_out_alone(const Plan& inner, Range wave, Count lane) const {
  return carry_out(inner, {builder_.input(wave), builder_.output(wave)}, plan_.problem.in_place,
                   lane);
}

}  // namespace latecomer
