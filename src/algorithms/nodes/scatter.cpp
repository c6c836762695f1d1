// Scatter among ranks that share nodes: one message comes to each node, with the parts of its
// ranks. The root sends them from its own buffer where ranks of a node follow each other, otherwise
// from its node's buffer, in which it orders them by nodes; ranks copy their parts from their
// node's buffer, where a late rank finds its own.
//
// Cost: of the algorithm among the nodes for N nodes. Where no ranks share a node, and for vectors
// that do not fit in a node's buffer, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include "algorithms/nodes/lifted_row.hpp"

namespace latecomer::scatter {
namespace {

class Steps : StepsOfParts {
 public:
  static constexpr Collective kCollective = Collective::scatter;
  static constexpr std::string_view kAware[] = {"sorted_linear"};

  Steps(const Plan& plan, const NodeRank& rank, Builder& builder)
      : StepsOfParts(plan, rank, builder), direct_(rank.root() && order_.is_that_of_ranks()) {
    if (rank.alone() && direct_) return;
    const Slice own = builder.output(part(rank.me()));
    vector_ = rank.alone() && !rank.root() ? order_.around(own) : order_.reserve(builder);
    there_ = order_.flags_of_ranks(vector_, builder);
  }

  /// The root orders the parts of the other nodes.
  void put_in() {
    for (Rank node = 0; node < rank_.nodes().count() && rank_.root() && !direct_; ++node) {
      if (node == rank_.node()) continue;
      for (const NodeOrder::Block& block : order_.blocks(node)) {
        builder_.copy(builder_.input(block.in_vector), slice_of(vector_, block.in_place));
      }
    }
  }

  void carry_out(Count /*lane*/) {
    rank_.carry_out(plan_.inner.front(), direct_ ? builder_.input(all()) : vector_);
  }

  /// The root also puts in the parts of the others on its node.
  void take_out() {
    const Range mine = part(rank_.me());
    const std::vector<Rank>& ranks = rank_.nodes().ranks(rank_.node());
    for (const Rank each : ranks) {
      if (!rank_.root() || each == rank_.me()) continue;
      builder_.copy(builder_.input(part(each)), place(each));
    }
    const bool shows = rank_.drives() || rank_.root();
    for (const Rank each : ranks) {
      if (shows && each != rank_.me()) there_.signal(rank_.nodes().place(each));
    }
    if (rank_.root()) return builder_.copy(builder_.input(mine), builder_.output(mine));
    if (!rank_.drives()) there_.await(rank_.place());
    builder_.copy(place(rank_.me()), builder_.output(mine));
  }

 private:
  bool direct_;  // from the root's input
  Flags there_;
};

}  // namespace

LATECOMER_ROW(scatter, nodes) { return lifted_row<Steps>(); }

}  // namespace latecomer::scatter
