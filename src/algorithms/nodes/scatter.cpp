// Scatter among ranks that share nodes: one message comes to each node, with the parts of its
// ranks. The root sends them from its own buffer where ranks of a node follow each other, otherwise
// from its node's buffer, in which it orders them by nodes; ranks copy their parts from their
// node's buffer, where a late rank finds its own.
//
// Cost: of the algorithm among the nodes for N nodes. Where no ranks share a node, and for vectors
// that do not fit in a node's buffer, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include "algorithms/nodes/among.hpp"
#include "algorithms/nodes/node_order.hpp"
#include "algorithms/nodes/plans.hpp"
#include "algorithms/registry.hpp"

namespace latecomer::scatter {
namespace {

constexpr Lifting kOnNodes{fits_node_by_node, nodes_parts, {"sorted_linear"}, false, false};

void fill_plan(Plan& plan, const Knowledge& knowledge) { fill_lifted(plan, knowledge, kOnNodes); }

/// The operations of one rank on nodes.
class Ranks {
 public:
  Ranks(const Plan& plan, Builder& builder)
      : plan_(plan), builder_(builder), rank_(plan, builder), order_(plan.problem, rank_) {}

  void build() {
    const Range mine = order_.part(rank_.me());
    if (rank_.alone() && !rank_.root()) {
      rank_.carry_out(plan_.inner.front(), order_.around(builder_.output(mine)));
      return;
    }
    const bool direct = rank_.root() && order_.is_that_of_ranks();
    const Slice vector = rank_.alone() && direct ? Slice{} : order_.reserve(builder_);
    const PartFlags there(rank_, order_, vector, builder_);
    if (rank_.root()) {
      send(vector, direct);
    } else if (rank_.drives()) {
      rank_.carry_out(plan_.inner.front(), vector);
    }
    if (rank_.drives() || rank_.root()) signal_mates(there);
    if (rank_.root()) return builder_.copy(builder_.input(mine), builder_.output(mine));
    if (!rank_.drives()) there.await(rank_.me());
    builder_.copy(slice_of(vector, order_.place(rank_.me())), builder_.output(mine));
  }

 private:
  /// The root's share: to send the parts of the other nodes, and to show the mates theirs.
  void send(const Slice& vector, bool direct) {
    for (Rank node = 0; node < rank_.nodes().count() && !direct; ++node) {
      if (node != rank_.node()) order_in(vector, node);
    }
    if (rank_.drives()) {
      const Slice all = direct ? builder_.input({0, plan_.problem.count}) : vector;
      rank_.carry_out(plan_.inner.front(), all);
    }
    for (const Rank mate : rank_.nodes().ranks(rank_.node())) {
      if (mate == rank_.me()) continue;
      builder_.copy(builder_.input(order_.part(mate)), slice_of(vector, order_.place(mate)));
    }
  }

  /// Copies the parts of a node to their places in the order of nodes.
  void order_in(const Slice& vector, Rank node) {
    for (const NodeOrder::Stretch& stretch : order_.stretches(node)) {
      builder_.copy(builder_.input(stretch.in_vector), slice_of(vector, stretch.in_place));
    }
  }

  void signal_mates(const PartFlags& there) {
    for (const Rank mate : rank_.nodes().ranks(rank_.node())) {
      if (mate != rank_.me()) there.signal(mate);
    }
  }

  const Plan& plan_;
  Builder& builder_;
  NodeRank rank_;
  NodeOrder order_;
};

void build(const Plan& plan, Builder& builder) { Ranks(plan, builder).build(); }

}  // namespace

LATECOMER_ROW(scatter, nodes) {
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

}  // namespace latecomer::scatter
