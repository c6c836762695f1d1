// All-gather of ranks that share nodes: each node's parts leave it once and those of each other
// node come in once, however many ranks it has. Ranks copy their parts to the node's buffer;
// drivers gather the nodes' parts there; all copy what comes. A rank that arrives late finds the
// others' parts in its node's memory.
//
// Cost: of the algorithm among the nodes for N nodes. Where no ranks share a node, and for vectors
// that do not fit in a node's buffer, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include <algorithm>

#include "algorithms/nodes/among.hpp"
#include "algorithms/nodes/node_order.hpp"
#include "algorithms/nodes/plans.hpp"
#include "algorithms/registry.hpp"

namespace latecomer::allgather {
namespace {

constexpr Lifting kOnNodes{fits_node_by_node, nodes_parts, {"late_doubling"}, false, true};

void fill_plan(Plan& plan, const Knowledge& knowledge) { fill_lifted(plan, knowledge, kOnNodes); }

class Ranks {
 public:
  Ranks(const Plan& plan, Builder& builder)
      : plan_(plan),
        builder_(builder),
        rank_(plan, builder),
        order_(plan.problem, rank_),
        direct_(rank_.alone() && order_.is_that_of_ranks()),
        vector_(direct_ ? builder.output({0, plan.problem.count}) : order_.reserve(builder)),
        own_(rank_, order_, vector_, builder),
        others_(rank_, order_, vector_, builder) {}

  void build() {
    builder_.piggyback(false);  // where, is said explicitly
    builder_.copy(builder_.input(order_.part(rank_.me())),
                  slice_of(vector_, order_.place(rank_.me())));
    own_.signal(rank_.me());
    if (!rank_.alone()) builder_.piggyback_last();
    const bool rewrites = !rank_.alone() && !rank_.one_node() && rewrites_own();
    if (rank_.one_node()) own_.await_mates(true);
    if (rank_.drives()) drive(rewrites);
    if (!direct_) take(rewrites);
  }

 private:
  /// Whether the program among nodes brings a node its own part again: then mates must not read it
  /// before.
  [[nodiscard]] bool rewrites_own() const {
    const Range own = order_.of_node(rank_.node());
    const Program program = build_program(plan_.inner.front(), rank_.node());
    return std::ranges::any_of(program.operations, [&](const Operation& op) {
      const Slice written = accesses(op).write;
      return written.overlaps({Buffer::output, own.begin, own.count});
    });
  }

  /// The driver's share. With the last part it tells the arrival stamps of the others.
  void drive(bool rewrites) {
    const std::vector<OpIndex> known = own_.await_mates(true);
    const Lifted lifted = rank_.carry_out(plan_.inner.front(), vector_, 0, known);
    if (rank_.alone()) return;
    for (const Rank node : from_own()) {
      if (node != rank_.node() || rewrites) others_.signal(node);
    }
    builder_.piggyback_last();
    builder_.wait_also_for_all(known);
    builder_.wait_also_for_all(lifted.told);
  }

  /// Copies all parts to the output, as they come.
  void take(bool rewrites) {
    const bool waits = !rank_.drives() && !rank_.one_node();
    const Range mine = order_.part(rank_.me());
    builder_.copy(builder_.input(mine), builder_.output(mine));
    if (waits && rewrites) others_.await(rank_.node());
    if (waits && !rewrites) own_.await_mates(false);
    for (const Rank mate : rank_.nodes().ranks(rank_.node())) {
      if (mate != rank_.me()) copy({order_.place(mate), order_.part(mate)});
    }
    const std::vector<Rank> nodes = from_own();
    for (const Rank node : nodes) {
      if (node == rank_.node()) continue;
      if (waits) others_.await(node);
      if (waits && node == nodes.back()) builder_.piggyback_last();
      for (const NodeOrder::Stretch& stretch : order_.stretches(node)) copy(stretch);
    }
  }

  void copy(const NodeOrder::Stretch& stretch) {
    builder_.copy(slice_of(vector_, stretch.in_place), builder_.output(stretch.in_vector));
  }

  /// All nodes, this one first.
  [[nodiscard]] std::vector<Rank> from_own() const {
    std::vector<Rank> nodes;
    const Rank count = rank_.nodes().count();
    for (Rank i = 0; i < count; ++i) nodes.push_back((rank_.node() + i) % count);
    return nodes;
  }

  const Plan& plan_;
  Builder& builder_;
  NodeRank rank_;
  NodeOrder order_;
  bool direct_;   // in the output, since no mate shares it
  Slice vector_;  // in the order of nodes
  PartFlags own_;
  NodeFlags others_;
};

void build(const Plan& plan, Builder& builder) { Ranks(plan, builder).build(); }

}  // namespace

LATECOMER_ROW(allgather, nodes) {
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

}  // namespace latecomer::allgather
