// Binomial tree: each rank of a gather sends its subtree's parts to its parent, half of the ranks
// in each round; a scatter takes the same way in the other direction.
//
// Cost: ceil(log2 P) alpha + (P-1)/P m beta. The fewest rounds; use it for short parts.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005), sections 3.2 and 3.5.
//
// Sorted binomial (SBN): a binomial tree by arrival. In a gather the early ranks are the leaves
// that send first, the latest ranks are the root's children with small subtrees, and each rank
// receives from its subtrees in the order in which they should be complete. In a scatter the early
// ranks have large subtrees, which are served first. With background progress (BSBN) a rank's
// thread receives and forwards parts before the rank arrives.
//
// Cost: the same at zero delay. Source: Proficz 2020 (Cluster Computing 23), SBN and BSBN, as
// described in Proficz 2021; the positions are latecomer's own.
#include <algorithm>

#include "algorithms/gather_scatter/part_tree.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/row.hpp"
#include "base/error.hpp"

namespace latecomer {
namespace {

void fill_by_rank(Plan& plan, const Knowledge& /*knowledge*/) {
  plan.order = rotated_order(plan.problem.ranks, plan.problem.root);
}

void put_root_first(std::vector<Rank>& order, Rank root) {
  const auto at = std::ranges::find(order, root);
  std::rotate(order.begin(), at, at + 1);
}

/// The root, then the others, the latest first: a subtree is complete when its first position is.
std::vector<Rank> gather_order(const Problem& problem, const std::vector<Seconds>& arrivals) {
  if (arrivals.empty()) return rotated_order(problem.ranks, problem.root);
  std::vector<Rank> order = order_by_arrival(problem.ranks, arrivals);
  std::ranges::reverse(order);
  put_root_first(order, problem.root);
  return order;
}

/// Notes the time when each position's subtree should be complete; returns that of `position`.
Seconds find_ready(const Plan& plan, const PartTree& tree, const Knowledge& knowledge,
                   Rank position, std::vector<Seconds>& ready) {
  const Seconds arrival = knowledge.arrivals.empty() ? 0 : knowledge.arrivals[tree.rank(position)];
  std::vector<Rank> below;
  for (const auto& [child, left] : tree.node(position).children) {
    find_ready(plan, tree, knowledge, child, ready);
    below.push_back(child);
  }
  std::ranges::stable_sort(below, {}, [&](Rank child) { return ready[child]; });
  const bool early = plan.progress == Progress::background && !below.empty();
  Seconds received = early ? ready[below.front()] : arrival;
  for (const Rank child : below) {
    const Count bytes = tree.elements(child) * plan.problem.element_bytes;
    received = std::max(received, ready[child]) + knowledge.network.transfer(bytes);
  }
  return ready[position] = std::max(received, arrival);
}

/// Fills the table with each position's place in the order in which subtrees are complete.
void fill_gather(Plan& plan, const Knowledge& knowledge) {
  const Rank ranks = plan.problem.ranks;
  plan.order = gather_order(plan.problem, knowledge.arrivals);
  const PartTree tree(plan.problem, plan.order);
  std::vector<Seconds> ready(plan.order.size());
  find_ready(plan, tree, knowledge, 0, ready);
  plan.table.resize(plan.order.size());
  Count place = 0;
  for (const Rank position : order_by_arrival(ranks, ready)) plan.table[position] = place++;
}

void check_gather(const Plan& plan) {
  check_ordered_numbers(plan, 0, plan.problem.ranks - 1);
  if (plan.order.front() == plan.problem.root) return;
  throw Error("order", "rank " + std::to_string(plan.order.front()) + " first", "the root first");
}

void build_gather(const Plan& plan, Builder& builder) {
  const Range own = plan.problem.part(builder.me());
  PartTree(plan.problem, plan.order).gather(builder.input(own), plan.table, builder);
}

/// Adds the positions of a subtree as they are reached, each before its subtree.
void visit(const PartTree& tree, Rank position, std::vector<Rank>& visited) {
  visited.push_back(position);
  const std::vector<TreeNode::Child> children = tree.node(position).children;
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    visit(tree, child->rank, visited);
  }
}

void fill_scatter(Plan& plan, const Knowledge& knowledge) {
  std::vector<Rank> sorted = order_by_arrival(plan.problem.ranks, knowledge.arrivals);
  put_root_first(sorted, plan.problem.root);
  std::vector<Rank> visited;
  visit(PartTree(plan.problem, sorted), 0, visited);
  plan.order.resize(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) plan.order[visited[i]] = sorted[i];
}

void build_scatter(const Plan& plan, Builder& builder) {
  PartTree(plan.problem, plan.order).scatter(builder);
}

Cost cost(const Plan& plan) { return PartTree(plan.problem, plan.order).cost(); }

}  // namespace

namespace gather {
LATECOMER_ROW(gather, binomial) {
  return {.cost_formula = "ceil(log2 P) alpha + (P-1)/P m beta",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .fill_plan = fill_by_rank,
          .build = build_gather,
          .check = check_root_first,
          .cost = cost};
}
LATECOMER_ROW(gather, sorted_binomial) {
  return {.arrival_aware = true,
          .cost_formula = "ceil(log2 P) alpha + (P-1)/P m beta at zero delay",
          .source = "Proficz 2020 (SBN; with background progress BSBN)",
          .fill_plan = fill_gather,
          .build = build_gather,
          .check = check_gather,
          .cost = cost};
}
}  // namespace gather

namespace scatter {
LATECOMER_ROW(scatter, binomial) {
  Algorithm row = gather::row_binomial();
  row.build = build_scatter;
  return row;
}
LATECOMER_ROW(scatter, sorted_binomial) {
  Algorithm row = gather::row_sorted_binomial();
  row.fill_plan = fill_scatter;
  row.build = build_scatter;
  row.check = check_root_first;
  return row;
}
}  // namespace scatter

}  // namespace latecomer
