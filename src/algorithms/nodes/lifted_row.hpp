// The row of a collective on nodes. It lifts the collective's other programs: a rank puts what it
// has into its node's buffer, drivers carry out a program among the nodes on these buffers, and
// ranks take what they are to have out of them. A row gives these three steps, everything else
// follows from its collective. Where the memory of nodes is not used a plan is that of a row among
// all ranks.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "algorithms/nodes/cut.hpp"
#include "algorithms/nodes/lift.hpp"
#include "algorithms/nodes/node_order.hpp"
#include "algorithms/row.hpp"

namespace latecomer {

/// `aware`: the rows among nodes that arrive apart, of which the first that is worth it is taken.
void fill_lifted(Plan& plan, const Knowledge& knowledge, std::span<const std::string_view> aware);
/// The program of a plan among all ranks.
void build_among_all(const Plan& plan, Builder& builder);
/// True if messages and flags tell all ranks of each other: where is said explicitly.
[[nodiscard]] inline bool tells_all(Collective collective) { return !rooted(collective); }
/// The row, but for what its steps add.
[[nodiscard]] Algorithm row_on_nodes(Collective collective);

/// The members that the steps of every row work with.
class StepsOfRank {
 public:
  StepsOfRank(const Plan& plan, const NodeRank& rank, Builder& builder)
      : plan_(plan), rank_(rank), builder_(builder) {}

 protected:
  const Plan& plan_;
  const NodeRank& rank_;
  Builder& builder_;
};

/// The same where vectors consist of parts.
class StepsOfParts : protected StepsOfRank {
 protected:
  StepsOfParts(const Plan& plan, const NodeRank& rank, Builder& builder)
      : StepsOfRank(plan, rank, builder), order_(plan.problem, rank) {}

  [[nodiscard]] Range all() const { return {0, plan_.problem.count}; }
  [[nodiscard]] Range part(Rank rank) const { return order_.part(rank); }
  /// A rank's part in the node's buffer.
  [[nodiscard]] Slice place(Rank rank) const { return slice_of(vector_, order_.place(rank)); }

  NodeOrder order_;
  Slice vector_;  // in the order of nodes
};

template <class Steps>
void take_steps(Steps& steps, const NodeRank& rank, const std::vector<Wave>& lanes) {
  steps.put_in();
  for (const Wave& lane : lanes) {
    if (rank.drives(lane.lane)) steps.carry_out(lane.lane);
  }
  steps.take_out();
}

/// Vectors go through the buffer at once or, if the row's steps begin waves, in waves.
template <class Steps>
void build_on_nodes(const Plan& plan, Builder& builder) {
  if (among_all(plan)) return build_among_all(plan, builder);
  const NodeRank rank(plan, builder);
  if (tells_all(plan.problem.collective)) builder.piggyback(false);
  Steps steps(plan, rank, builder);
  if constexpr (!requires(const std::vector<Wave>& lanes) { steps.begin(lanes); }) {
    take_steps(steps, rank, {Wave{}});
  } else {
    for (const std::vector<Wave>& lanes : waves_of(plan, rank, builder)) {
      if (rank.alone()) {
        for (const Wave& lane : lanes) {
          rank.carry_out_alone(plan_of(plan, lane), lane.range, lane.lane);
        }
        continue;
      }
      steps.begin(lanes);
      take_steps(steps, rank, lanes);
    }
  }
}

template <class Steps>
[[nodiscard]] Algorithm lifted_row() {
  Algorithm row = row_on_nodes(Steps::kCollective);
  row.fill_plan = [](Plan& plan, const Knowledge& knowledge) {
    fill_lifted(plan, knowledge, Steps::kAware);
  };
  row.build = build_on_nodes<Steps>;
  return row;
}

}  // namespace latecomer
