// Static tree: a reduction tree for known arrivals. A rank is ready once it has arrived and has
// combined all that it was to receive; then it sends its partial result to the rank that is ready
// next.
//
// Cost: with one rank that is late by more than the others need, one message and combine after it;
// ceil(log2 P)(alpha + m beta + m gamma) when all arrive together. Use it for short vectors and
// known arrivals.
// In the paper's model this is the best of all trees: merging two partial results takes psi from
// the time when both are ready, wherever the result is left. The reduction then ends at the least T
// for which the sum over the ranks of 2^-floor((T - a_i) / psi) is at most 1. On our network this
// holds for messages that wait for their receivers, with psi = alpha + m beta + m gamma. Other
// messages travel while their receivers are still busy or absent; this only makes it faster, but
// the order is then no longer proven to be the best. Source: Marendic 2012, section 3, algorithm 1.
#include <algorithm>
#include <queue>
#include <utility>

#include "algorithms/plans.hpp"
#include "algorithms/reduce/tree_fold.hpp"
#include "algorithms/row.hpp"
#include "patterns/trees.hpp"

namespace latecomer::reduce {
namespace {

/// The times at which ranks are ready and leave, as merges go on.
class MergeClock {
 public:
  MergeClock(const Problem& problem, const Network& network, const std::vector<Seconds>& arrivals)
      : transfer_(network.transfer(problem.bytes())),
        combine_(network.combining(problem.bytes())),
        waits_(problem.bytes() > network.eager_limit),
        arrivals_(arrivals),
        ready_(arrivals),
        link_(arrivals.size(), *std::min_element(arrivals.begin(), arrivals.end())) {}

  /// The time from which the rank is ready; for one that has sent, the end of its message.
  [[nodiscard]] Seconds ready(Rank rank) const { return ready_[rank]; }

  void merge(Rank from, Rank to) {
    hand_over(from, to);
    ready_[to] += combine_;
  }
  /// A message without a combine.
  void hand_over(Rank from, Rank to) {
    Seconds begin = ready_[from];
    if (waits_) begin = std::max({begin, arrivals_[to], link_[to]});
    ready_[from] = begin + transfer_;
    link_[to] = std::max(begin, link_[to]) + transfer_;
    ready_[to] = std::max(ready_[to], link_[to]);
  }

 private:
  Seconds transfer_;
  Seconds combine_;
  bool waits_;  // a message leaves only when its receiver takes it in
  std::vector<Seconds> arrivals_;
  std::vector<Seconds> ready_;
  std::vector<Seconds> link_;  // when the rank can take in its next message
};

/// The messages in order, each with its sender and receiver; the rank that is left has the result.
struct Merges {
  struct Merge {
    Rank from;
    Rank to;
  };
  std::vector<Merge> all;
  Rank holder = 0;
};

/// The place of a merge's result: with either rank, or with the root if it is one of them.
enum class Ends : std::uint8_t { anywhere, at_the_root };

Merges greedy(const Problem& problem, MergeClock clock, Ends ends) {
  using Ready = std::pair<Seconds, Rank>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (Rank rank = 0; rank < problem.ranks; ++rank) ready.push({clock.ready(rank), rank});
  const auto take = [&] {
    const Rank rank = ready.top().second;
    ready.pop();
    return rank;
  };
  Merges merges;
  while (ready.size() > 1) {
    Rank from = take();
    Rank to = take();
    if (ends == Ends::at_the_root && from == problem.root) std::swap(from, to);
    clock.merge(from, to);
    merges.all.push_back({from, to});
    ready.push({clock.ready(to), to});
  }
  merges.holder = take();
  return merges;
}

/// The clock after all messages of a plan.
MergeClock played(const Merges& merges, Rank root, MergeClock clock) {
  for (const auto& [from, to] : merges.all) clock.merge(from, to);
  if (merges.holder != root) clock.hand_over(merges.holder, root);
  return clock;
}

Merges merges_of(const Plan& plan) {
  Merges merges;
  for (std::size_t i = 0; i < plan.table.size(); ++i) {
    merges.all.push_back({plan.order[i], static_cast<Rank>(plan.table[i])});
  }
  merges.holder = plan.order.back();
  return merges;
}

/// The order: ranks as they send, at last the one that has the result. The table: the receivers.
void fill_plan(Plan& plan, const Knowledge& knowledge) {
  const Problem& problem = plan.problem;
  const std::vector<Seconds> together(static_cast<std::size_t>(problem.ranks), 0);
  const MergeClock clock(problem, knowledge.network,
                         knowledge.arrivals.empty() ? together : knowledge.arrivals);
  const auto end = [&](const Merges& merges) {
    return played(merges, problem.root, clock).ready(problem.root);
  };
  Merges best = greedy(problem, clock, Ends::at_the_root);
  Merges other = greedy(problem, clock, Ends::anywhere);
  if (end(other) < end(best)) best = std::move(other);
  for (const auto& [from, to] : best.all) {
    plan.order.push_back(from);
    plan.table.push_back(to);
  }
  plan.order.push_back(best.holder);
}

/// Throws Error unless each rank sends once, to a rank that still has its part.
void check(const Plan& plan) {
  const auto senders = static_cast<std::size_t>(plan.problem.ranks) - 1;
  const bool fits = plan.order.size() == senders + 1 && plan.table.size() == senders;
  std::vector<bool> gone(senders + 1);
  for (std::size_t i = 0; fits && i < senders; ++i) {
    gone[plan.order[i]] = true;
    const Count to = plan.table[i];
    if (to < 0 || to > static_cast<Count>(senders) || gone[to]) refuse_table(plan, "who is left");
  }
  if (!fits) refuse_table(plan, "to whom each rank of the order sends, but the last");
}

void build(const Plan& plan, Builder& builder) {
  const Merges merges = merges_of(plan);
  const Rank me = builder.me();
  const Rank root = plan.problem.root;
  TreeFold fold(builder, {0, plan.problem.count}, me == root && merges.holder == root);
  fold.own();
  for (const auto& [from, to] : merges.all) {
    // The last message is not known; it makes no difference where the operator commutes.
    if (to == me) fold.receive(from, Received::right, false);
    if (from == me) fold.send(to);
  }
  if (merges.holder != root) fold.hand_over(merges.holder, root);
  if (me == root) fold.finish();
}

/// The cost of the plan's tree, which has log2 P rounds where ranks arrive together.
Cost cost(const Plan& plan) {
  const Problem& problem = plan.problem;
  std::vector<TreeSteps> received(plan.order.size());
  std::vector<TreeSteps> combined(plan.order.size());
  for (const auto& [from, to] : merges_of(plan).all) {
    received[to] = std::max(received[to], combined[from]);
    ++received[to].transfers;
    combined[to] = std::max(combined[to], received[to]);
    ++combined[to].combines;
  }
  const TreeSteps steps = combined[plan.order.back()];
  const Count transfers = steps.transfers + (plan.order.back() == problem.root ? 0 : 1);
  return {transfers, transfers * problem.count, steps.combines * problem.count};
}

}  // namespace

LATECOMER_ROW(reduce, static_tree) {
  return {.arrival_aware = true,
          .commutative_only = true,
          .scratch_messages = 3,
          .cost_formula = "ceil(log2 P)(alpha + m beta + m gamma) at zero delay",
          .source = "Marendic 2012, algorithm 1",
          .fill_plan = fill_plan,
          .build = build,
          .check = check,
          .cost = cost};
}

}  // namespace latecomer::reduce
