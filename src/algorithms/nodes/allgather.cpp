// All-gather of ranks that share nodes: each node's parts leave it once and those of each other
// node come in once, however many ranks it has. Ranks copy their parts to the node's buffer;
// drivers gather the nodes' parts there; all copy what comes. A rank that arrives late finds the
// others' parts in its node's memory.
//
// Cost: of the algorithm among the nodes for N nodes. Where no ranks share a node, and for vectors
// that do not fit in a node's buffer, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include <algorithm>

#include "algorithms/nodes/lifted_row.hpp"
#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"

namespace latecomer::allgather {
namespace {

class Steps : StepsOfParts {
 public:
  static constexpr Collective kCollective = Collective::allgather;
  static constexpr std::string_view kAware[] = {"late_doubling"};

  Steps(const Plan& plan, const NodeRank& rank, Builder& builder)
      : StepsOfParts(plan, rank, builder),
        direct_(rank.alone() && order_.is_that_of_ranks()),
        rewrites_(!rank.alone() && !rank.one_node() && rewrites_own()) {
    vector_ = direct_ ? builder.output(all()) : order_.reserve(builder);
    own_ = order_.flags_of_ranks(vector_, builder);
    others_ = order_.flags_of_nodes(vector_, builder);
  }

  void put_in() {
    builder_.copy(builder_.input(part(rank_.me())), place(rank_.me()));
    own_.signal(rank_.place());
    if (!rank_.alone()) builder_.piggyback_last();
    if (rank_.one_node()) own_.await_others(rank_.place(), true);
  }

  /// With the last part the driver tells the arrival stamps of the others.
  void carry_out(Count /*lane*/) {
    const std::vector<OpIndex> known = own_.await_others(rank_.place(), true);
    const Lifted lifted = rank_.carry_out(plan_.inner.front(), vector_, 0, known);
    if (rank_.alone()) return;
    for (const Rank node : from_own()) {
      if (node != rank_.node() || rewrites_) others_.signal(node);
    }
    builder_.piggyback_last();
    builder_.wait_also_for_all(known);
    builder_.wait_also_for_all(lifted.told);
  }

  /// Copies all parts to the output, as they come.
  void take_out() {
    if (direct_) return;
    const bool waits = !rank_.drives() && !rank_.one_node();
    const Range mine = part(rank_.me());
    builder_.copy(builder_.input(mine), builder_.output(mine));
    if (waits && rewrites_) others_.await(rank_.node());
    if (waits && !rewrites_) own_.await_others(rank_.place(), false);
    for (const Rank each : rank_.nodes().ranks(rank_.node())) {
      if (each != rank_.me()) copy({order_.place(each), order_.part(each)});
    }
    const std::vector<Rank> nodes = from_own();
    for (const Rank node : nodes) {
      if (node == rank_.node()) continue;
      if (waits) others_.await(node);
      if (waits && node == nodes.back()) builder_.piggyback_last();
      for (const NodeOrder::Block& block : order_.blocks(node)) copy(block);
    }
  }

 private:
  /// True if the program among nodes brings a node its own part again: then no other rank must read
  /// it before.
  [[nodiscard]] bool rewrites_own() const {
    const Range own = order_.of_node(rank_.node());
    const Program program = build_program(plan_.inner.front(), rank_.node());
    return std::ranges::any_of(program.operations, [&](const Operation& op) {
      const Slice written = accesses(op).write;
      return written.overlaps({Buffer::output, own.begin, own.count});
    });
  }

  void copy(const NodeOrder::Block& block) {
    builder_.copy(slice_of(vector_, block.in_place), builder_.output(block.in_vector));
  }

  /// All nodes, this one first.
  [[nodiscard]] std::vector<Rank> from_own() const {
    std::vector<Rank> nodes;
    const Rank count = rank_.nodes().count();
    for (Rank i = 0; i < count; ++i) nodes.push_back((rank_.node() + i) % count);
    return nodes;
  }

  bool direct_;  // in the output, since no other rank shares it
  bool rewrites_;
  Flags own_;
  Flags others_;
};

}  // namespace

LATECOMER_ROW(allgather, nodes) { return lifted_row<Steps>(); }

}  // namespace latecomer::allgather
