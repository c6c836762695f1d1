// Gather of ranks that share nodes: one message leaves each node, with the parts of its ranks,
// which copy them to the node's buffer as they come. The root's node gathers them in its buffer,
// or, where the root drives it and ranks of a node follow each other, in the root's output. For a
// late root its mates take in the others' parts.
//
// Cost: of the algorithm among the nodes for N nodes. Where no ranks share a node, and for vectors
// that do not fit in a node's buffer, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include "algorithms/nodes/among.hpp"
#include "algorithms/nodes/node_order.hpp"
#include "algorithms/nodes/plans.hpp"
#include "algorithms/registry.hpp"

namespace latecomer::gather {
namespace {

constexpr Lifting kOnNodes{fits_node_by_node, nodes_parts, {"sorted_linear_sync"}, false, false};

void fill_plan(Plan& plan, const Knowledge& knowledge) { fill_lifted(plan, knowledge, kOnNodes); }

class Ranks {
 public:
  Ranks(const Plan& plan, Builder& builder)
      : plan_(plan), builder_(builder), rank_(plan, builder), order_(plan.problem, rank_) {}

  void build() {
    const Range mine = order_.part(rank_.me());
    if (rank_.alone() && !rank_.root()) {
      rank_.carry_out(plan_.inner.front(), order_.around(builder_.input(mine)));
      return;
    }
    if (rank_.alone() && order_.is_that_of_ranks()) {
      rank_.carry_out_alone(plan_.inner.front(), {0, plan_.problem.count});
      return;
    }
    const Slice vector = order_.reserve(builder_);
    const PartFlags own(rank_, order_, vector, builder_);
    const NodeFlags others(rank_, order_, vector, builder_);
    builder_.copy(builder_.input(mine), slice_of(vector, order_.place(rank_.me())));
    if (!rank_.root() || rank_.hands_over()) own.signal(rank_.me());
    const bool awaits_mates = rank_.drives() || rank_.root();
    if (awaits_mates) own.await_mates(false);
    const bool direct = rank_.root() && rank_.drives() && order_.is_that_of_ranks();
    if (rank_.drives()) drive(vector, others, direct);
    if (rank_.root() && !direct) take(vector, others);
  }

 private:
  void drive(const Slice& vector, const NodeFlags& others, bool direct) {
    const Plan& inner = plan_.inner.front();
    if (direct) {
      const Range all{0, plan_.problem.count};
      rank_.carry_out(inner, {vector, builder_.output(all)}, false);
      return;
    }
    rank_.carry_out(inner, vector);
    if (!rank_.hands_over()) return;
    for (Rank node = 0; node < rank_.nodes().count(); ++node) {
      if (node != rank_.node()) others.signal(node);
    }
  }

  /// The root takes the parts out of its node's buffer.
  void take(const Slice& vector, const NodeFlags& others) {
    for (Rank node = 0; node < rank_.nodes().count(); ++node) {
      if (rank_.hands_over() && node != rank_.node()) others.await(node);
      for (const NodeOrder::Stretch& stretch : order_.stretches(node)) {
        builder_.copy(slice_of(vector, stretch.in_place), builder_.output(stretch.in_vector));
      }
    }
  }

  const Plan& plan_;
  Builder& builder_;
  NodeRank rank_;
  NodeOrder order_;
};

void build(const Plan& plan, Builder& builder) { Ranks(plan, builder).build(); }

}  // namespace

LATECOMER_ROW(gather, nodes) {
  return {.arrival_aware = true,
          .lifts = true,
          .scratch_messages = 3,
          .parameters = {among_parameter()},
          .cost_formula = "of the algorithm among the N nodes",
          .source = "this project, docs/nodes.md",
          .fill_plan = fill_plan,
          .build = build_lifted<build>,
          .check = check_plan_of<kOnNodes>,
          .cost = cost_of_parts,
          .informs_all = informs_all_of<kOnNodes>};
}

}  // namespace latecomer::gather
