// Sorted binomial (SBN): a binomial tree in which early ranks are the leaves that send first and
// the latest ranks stand next to the root, in small subtrees; each rank takes its subtrees in the
// order in which they are to be complete. With background progress (BSBN) it does so before it
// arrives.
//
// Cost: ceil(log2 P) alpha + (P-1)/P m beta at zero delay. Use it for short parts.
// Source: Proficz 2020 (Cluster Computing 23), SBN and BSBN, as described in Proficz 2021; the
// positions are latecomer's own.
#include <numeric>

#include "algorithms/moving/replay.hpp"
#include "algorithms/packed.hpp"
#include "algorithms/plan_checks.hpp"
#include "algorithms/row.hpp"
#include "base/error.hpp"
#include "patterns/powers.hpp"
#include "schedule/builder.hpp"

namespace latecomer::gather {
namespace {

using moving::Moves;

/// The root, then the others, the latest first: a subtree is complete when its first position is.
std::vector<Rank> positions(const Problem& problem, const std::vector<Seconds>& arrivals) {
  std::vector<Rank> order = order_by_arrival(problem.ranks, arrivals);
  if (arrivals.empty()) {
    std::rotate(order.begin(), order.begin() + problem.root, order.end());
    return order;
  }
  std::reverse(order.begin(), order.end());
  const auto root = std::find(order.begin(), order.end(), problem.root);
  std::rotate(order.begin(), root, root + 1);
  return order;
}

/// A rank's children in the order in which it takes them: the plan's table has when each position's
/// subtree is complete, as a place among all.
std::vector<Rank> children(const Plan& plan, const PackedTree& tree, Rank position) {
  std::vector<Rank> all;
  for (const TreeNode::Child& child : tree.node(position).children) all.push_back(child.rank);
  std::ranges::sort(all, {}, [&](Rank child) { return plan.table[child]; });
  return all;
}

/// When each position's subtree is to be complete.
class Readiness {
 public:
  Readiness(const Plan& plan, const PackedTree& tree, const Knowledge& knowledge)
      : plan_(plan), tree_(tree), knowledge_(knowledge), at_(plan.order.size(), 0) {}

  std::vector<Seconds> operator()() {
    find(0);
    return at_;
  }

 private:
  [[nodiscard]] Seconds arrival(Rank position) const {
    return knowledge_.arrivals.empty() ? 0 : knowledge_.arrivals[tree_.rank(position)];
  }

  void find(Rank position) {
    std::vector<Rank> below;
    for (const TreeNode::Child& child : tree_.node(position).children) {
      find(child.rank);
      below.push_back(child.rank);
    }
    std::ranges::stable_sort(below, {}, [&](Rank child) { return at_[child]; });
    const bool early = plan_.progress == Progress::background;
    Seconds received = early && !below.empty() ? at_[below.front()] : arrival(position);
    for (const Rank child : below) {
      const Count bytes = tree_.packed(child).count * plan_.problem.element_bytes;
      received = std::max(received, at_[child]) + knowledge_.network.transfer(bytes);
    }
    at_[position] = std::max(received, arrival(position));
  }

  const Plan& plan_;
  const PackedTree& tree_;
  const Knowledge& knowledge_;
  std::vector<Seconds> at_;
};

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.order = positions(plan.problem, knowledge.arrivals);
  const PackedTree tree(plan.problem, plan.order);
  const std::vector<Seconds> ready = Readiness(plan, tree, knowledge)();
  const std::vector<Rank> sorted = order_by_arrival(plan.problem.ranks, ready);
  plan.table.resize(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) plan.table[sorted[i]] = static_cast<Count>(i);
}

void check(const Plan& plan) {
  check_ordered_numbers(plan, 0, plan.problem.ranks - 1);
  if (plan.order.front() == plan.problem.root) return;
  throw Error("order", "rank " + std::to_string(plan.order.front()) + " first", "the root first");
}

void add_subtree(Moves& all, const Plan& plan, const PackedTree& tree, Rank position) {
  for (const Rank child : children(plan, tree, position)) {
    add_subtree(all, plan, tree, child);
    moving::add(all, {tree.rank(child), tree.rank(position), tree.packed(child), true});
  }
}

Moves moves(const Plan& plan, Rank /*of*/) {
  const PackedTree tree(plan.problem, plan.order);
  Moves all;
  add_subtree(all, plan, tree, 0);
  return all;
}

/// The root's: a subtree's parts go from scratch to their places in the vector.
void take_all(const Plan& plan, const PackedTree& tree, Builder& builder) {
  builder.copy(builder.input(tree.part(0)), builder.output(tree.part(0)));
  for (const Rank child : children(plan, tree, 0)) {
    const bool direct = tree.end(child) == child + 1 && !builder.background();
    if (direct) {
      builder.recv(tree.rank(child), builder.output(tree.part(child)));
      continue;
    }
    const Range all = tree.packed(child);
    const Slice landing = builder.scratch(all.count);
    builder.recv(tree.rank(child), landing);
    for (Rank at = child; at < tree.end(child); ++at) {
      const Range here = tree.packed(at, at + 1);
      builder.copy(landing.part(here.begin - all.begin, here.count), builder.output(tree.part(at)));
    }
  }
}

void hand_on(const Plan& plan, const PackedTree& tree, Rank me, Builder& builder) {
  const TreeNode node = tree.node(me);
  const Range all = tree.packed(me);
  const Slice own = builder.input(tree.part(me));
  if (node.children.empty()) return builder.send(tree.rank(node.parent), own);
  const Slice held = builder.scratch(all.count);
  builder.copy(own, held.part(0, own.count));
  for (const Rank child : children(plan, tree, me)) {
    const Range range = tree.packed(child);
    builder.recv(tree.rank(child), held.part(range.begin - all.begin, range.count));
  }
  builder.send(tree.rank(node.parent), held);
}

void build(const Plan& plan, Builder& builder) {
  const PackedTree tree(plan.problem, plan.order);
  const Rank me = tree.position(builder.me());
  me == 0 ? take_all(plan, tree, builder) : hand_on(plan, tree, me, builder);
}

Cost cost(const Plan& plan) {
  const PackedTree tree(plan.problem, plan.order);
  Count most = 0;
  for (Rank at = 1; at < plan.problem.ranks; ++at) most = std::max(most, tree.packed(at).count);
  return {ceil_log2(plan.problem.ranks), most, 0};
}

}  // namespace

LATECOMER_ROW(gather, sorted_binomial) {
  return {.arrival_aware = true,
          .cost_formula = "ceil(log2 P) alpha + (P-1)/P m beta at zero delay",
          .source = "Proficz 2020 (SBN; with background progress BSBN)",
          .fill_plan = fill_plan,
          .build = build,
          .check = check,
          .cost = cost,
          .time = moving::time_of<moves>,
          .time_after_last = moving::time_after_last_of<moves>};
}

}  // namespace latecomer::gather
