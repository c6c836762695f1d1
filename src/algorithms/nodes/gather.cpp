// Gather of ranks that share nodes: one message leaves each node, with the parts of its ranks,
// which copy them to the node's buffer as they come. The root's node gathers them in its buffer,
// or, where the root drives it and ranks of a node follow each other, in the root's output. For a
// late root the other ranks of its node take in the others' parts.
//
// Cost: of the algorithm among the nodes for N nodes. Where no ranks share a node, and for vectors
// that do not fit in a node's buffer, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include "algorithms/nodes/lifted_row.hpp"

namespace latecomer::gather {
namespace {

class Steps : StepsOfParts {
 public:
  static constexpr Collective kCollective = Collective::gather;
  static constexpr std::string_view kAware[] = {"sorted_linear_sync"};

  Steps(const Plan& plan, const NodeRank& rank, Builder& builder)
      : StepsOfParts(plan, rank, builder),
        direct_(rank.root() && rank.drives() && order_.is_that_of_ranks()) {
    if (rank.alone() && direct_) return;
    const Slice own = builder.input(part(rank.me()));
    vector_ = rank.alone() && !rank.root() ? order_.around(own) : order_.reserve(builder);
    own_ = order_.flags_of_ranks(vector_, builder);
    others_ = order_.flags_of_nodes(vector_, builder);
  }

  void put_in() {
    if (rank_.alone() && direct_) return;
    builder_.copy(builder_.input(part(rank_.me())), place(rank_.me()));
    if (!rank_.root() || rank_.hands_over()) own_.signal(rank_.place());
    if (rank_.drives() || rank_.root()) own_.await_others(rank_.place(), false);
  }

  void carry_out(Count /*lane*/) {
    const Plan& inner = plan_.inner.front();
    if (rank_.alone() && direct_) {
      rank_.carry_out_alone(inner, all());
    } else if (direct_) {
      rank_.carry_out(inner, {vector_, builder_.output(all())}, false);
    } else {
      rank_.carry_out(inner, vector_);
    }
    for (Rank node = 0; node < rank_.nodes().count() && rank_.hands_over(); ++node) {
      if (node != rank_.node()) others_.signal(node);
    }
  }

  void take_out() {
    if (!rank_.root() || direct_) return;
    for (Rank node = 0; node < rank_.nodes().count(); ++node) {
      if (rank_.hands_over() && node != rank_.node()) others_.await(node);
      for (const NodeOrder::Block& block : order_.blocks(node)) {
        builder_.copy(slice_of(vector_, block.in_place), builder_.output(block.in_vector));
      }
    }
  }

 private:
  bool direct_;  // into the root's output
  Flags own_;
  Flags others_;
};

}  // namespace

LATECOMER_ROW(gather, nodes) { return lifted_row<Steps>(); }

}  // namespace latecomer::gather
