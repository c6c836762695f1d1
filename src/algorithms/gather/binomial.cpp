// Binomial tree: in each round half of the ranks that still have something hand all of it to
// another one.
//
// Cost: ceil(log2 P) alpha + (P-1)/P m beta. The fewest rounds; use it for short parts.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), section 3.5.
#include <algorithm>

#include "algorithms/moving/replay.hpp"
#include "algorithms/row.hpp"
#include "algorithms/subtrees.hpp"

namespace latecomer::gather {
namespace {

/// An inner rank keeps its subtree's parts in scratch, in the order of the vector.
class Walk {
 public:
  Walk(const Plan& plan, Builder& builder)
      : subtrees_(plan.problem),
        builder_(builder),
        me_(subtrees_.tree().position(builder.me())),
        own_(plan.problem.part(builder.me())),
        held_(subtrees_, me_) {}

  void run() {
    const TreeNode node = subtrees_.node(me_);
    const bool leaf = node.children.empty();
    if (me_ != 0 && !leaf) {
      held_.place_all([&](Range part) { return builder_.scratch(part.count); });
    }
    if (me_ == 0 || !leaf) builder_.copy(builder_.input(own_), place(own_));
    for (const TreeNode::Child& child : node.children) {
      for (const Range& part : subtrees_.parts(child.rank)) {
        receive(subtrees_.tree().rank(child.rank), part);
      }
    }
    if (node.root()) return;
    for (const Range& part : held_.parts()) {
      builder_.send(subtrees_.tree().rank(node.parent), leaf ? builder_.input(part) : place(part));
    }
  }

 private:
  /// What may come to the root before it arrives lands in scratch.
  void receive(Rank from, Range part) {
    const bool early = me_ == 0 && builder_.background();
    const Slice landing = early ? builder_.scratch(part.count) : place(part);
    builder_.recv(from, landing);
    builder_.copy(landing, place(part));
  }
  [[nodiscard]] Slice place(Range range) const {
    if (range.empty()) return {};
    return me_ == 0 ? builder_.output(range) : held_.place(range);
  }

  Subtrees subtrees_;
  Builder& builder_;
  Rank me_;
  Range own_;
  HeldParts held_;
};

void build(const Plan& plan, Builder& builder) { Walk(plan, builder).run(); }

/// A subtree's parts that wrap around the last rank are two messages.
moving::Moves moves(const Plan& plan, Rank /*of*/) {
  const Subtrees subtrees(plan.problem);
  moving::Moves all;
  for (Rank bit = 1; bit < plan.problem.ranks; bit *= 2) {
    for (Rank at = bit; at < plan.problem.ranks; at += 2 * bit) {
      for (const Range& part : subtrees.parts(at)) {
        moving::add(all, {subtrees.tree().rank(at), subtrees.tree().rank(at - bit), part, true});
      }
    }
  }
  return all;
}

Cost cost(const Plan& plan) {
  const Subtrees subtrees(plan.problem);
  Count most = 0;
  for (Rank position = 1; position < plan.problem.ranks; ++position) {
    most = std::max(most, subtrees.elements(position));
  }
  return {ceil_log2(plan.problem.ranks), most, 0};
}

/// When `position` has all of its subtree, after all began.
Seconds complete_at(const Subtrees& subtrees, Rank position, const Plan& plan,
                    const Network& network) {
  Seconds received = 0;
  for (const TreeNode::Child& child : subtrees.node(position).children) {
    const Count bytes = subtrees.elements(child.rank) * plan.problem.element_bytes;
    received = std::max(received, complete_at(subtrees, child.rank, plan, network)) +
               network.transfer(bytes);
  }
  return received;
}

Seconds time(const Plan& plan, const Network& network) {
  return complete_at(Subtrees(plan.problem), 0, plan, network);
}

}  // namespace

LATECOMER_ROW(gather, binomial) {
  return {.cost_formula = "ceil(log2 P) alpha + (P-1)/P m beta",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .build = build,
          .cost = cost,
          .time = time,
          .time_after_last = moving::time_after_last_of<moves>};
}

}  // namespace latecomer::gather
