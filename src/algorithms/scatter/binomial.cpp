// Binomial tree: in each round all ranks that have parts of several ranks hand half of them on.
//
// Cost: ceil(log2 P) alpha + (P-1)/P m beta. The fewest rounds; use it for short parts.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), section 3.2 (of the broadcast's scatter).
#include <algorithm>

#include "algorithms/moving/replay.hpp"
#include "algorithms/row.hpp"
#include "algorithms/subtrees.hpp"

namespace latecomer::scatter {
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
    direct_ = node.children.empty() && !builder_.background();
    if (!node.root()) receive(subtrees_.tree().rank(node.parent));
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      for (const Range& part : subtrees_.parts(child->rank)) {
        builder_.send_in_turn(subtrees_.tree().rank(child->rank), place(part));
      }
    }
    if (!own_.empty() && (node.root() || !direct_)) {
      builder_.copy(place(own_), builder_.output(own_));
    }
  }

 private:
  void receive(Rank from) {
    held_.place_all(
        [&](Range part) { return direct_ ? builder_.output(part) : builder_.scratch(part.count); });
    for (const Range& part : held_.parts()) builder_.recv(from, place(part));
  }
  [[nodiscard]] Slice place(Range range) const {
    if (range.empty()) return {};
    return me_ == 0 ? builder_.input(range) : held_.place(range);
  }

  Subtrees subtrees_;
  Builder& builder_;
  Rank me_;
  Range own_;
  HeldParts held_;
  bool direct_ = false;  // its part comes to where it stays
};

void build(const Plan& plan, Builder& builder) { Walk(plan, builder).run(); }

/// A subtree's parts that wrap around the last rank are two messages.
moving::Moves moves(const Plan& plan, Rank /*of*/) {
  const Rank ranks = plan.problem.ranks;
  const Subtrees subtrees(plan.problem);
  moving::Moves all;
  for (Rank bit = Rank{1} << ceil_log2(ranks); bit > 0; bit /= 2) {
    for (Rank at = bit; at < ranks; at += 2 * bit) {
      for (const Range& part : subtrees.parts(at)) {
        moving::add(
            all, {subtrees.tree().rank(at - bit), subtrees.tree().rank(at), part, at == bit, true});
      }
    }
  }
  return all;
}

Cost cost(const Plan& plan) {
  const Problem& problem = plan.problem;
  return {ceil_log2(problem.ranks), problem.count - problem.part(problem.root).count, 0};
}

/// When all of its subtree have their parts, after `position` has them.
Seconds complete_at(const Subtrees& subtrees, Rank position, const Plan& plan,
                    const Network& network) {
  const TreeNode node = subtrees.node(position);
  Seconds sent = 0;
  Seconds last = 0;
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
    sent += network.transfer(subtrees.elements(child->rank) * plan.problem.element_bytes);
    last = std::max(last, sent + complete_at(subtrees, child->rank, plan, network));
  }
  return last;
}

Seconds time(const Plan& plan, const Network& network) {
  return complete_at(Subtrees(plan.problem), 0, plan, network);
}

}  // namespace

LATECOMER_ROW(scatter, binomial) {
  return {.cost_formula = "ceil(log2 P) alpha + (P-1)/P m beta",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .build = build,
          .cost = cost,
          .time = time,
          .time_after_last = moving::time_after_last_of<moves>};
}

}  // namespace latecomer::scatter
