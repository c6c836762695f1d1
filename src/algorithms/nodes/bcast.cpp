// Broadcast among ranks that share nodes: the root's node sends one vector, and each other node
// receives one. The root sends from its own buffer and writes the vector to its node's buffer;
// drivers receive into theirs, piece by piece; others copy. A rank that arrives late finds the
// vector in its node's memory.
//
// Cost: of the algorithm among the nodes for N nodes. Where no ranks share a node, it is that
// algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include "algorithms/nodes/lifted_row.hpp"

namespace latecomer::bcast {
namespace {

class Steps : StepsOfRank {
 public:
  static constexpr Collective kCollective = Collective::bcast;
  static constexpr std::string_view kAware[] = {"sorted_linear"};

  Steps(const Plan& plan, const NodeRank& rank, Builder& builder)
      : StepsOfRank(plan, rank, builder), writes_(rank.drives() || rank.root()) {}

  void begin(const std::vector<Wave>& lanes) {
    wave_ = lanes.front();
    there_ = wave_.flags(builder_);
  }

  void put_in() {
    if (writes_) ended_.await_all(rank_.size() - 1);
  }

  void carry_out(Count /*lane*/) {
    rank_.carry_out(plan_of(plan_, wave_), {builder_.input(wave_.range), wave_.whole()}, false);
  }

  /// The root shows the wave to the ranks of its node, other drivers have received it.
  void take_out() {
    for (Count piece = 0; piece < wave_.pieces && rank_.root(); ++piece) {
      builder_.copy(builder_.input(wave_.vector(piece)), wave_.piece(piece));
    }
    if (writes_) there_.signal();
    ended_ = wave_.last ? Flags() : wave_.flags_of_use(builder_);
    for (Count piece = 0; piece < wave_.pieces && !rank_.root(); ++piece) {
      if (!writes_) there_.await(piece);
      builder_.copy(wave_.piece(piece), builder_.output(wave_.vector(piece)));
      if (!writes_) ended_.signal_end_of_use(piece);
    }
  }

 private:
  bool writes_;
  Wave wave_;
  Flags there_;
  Flags ended_;  // the others' use of the wave before, then of this one
};

}  // namespace

LATECOMER_ROW(bcast, nodes) { return lifted_row<Steps>(); }

}  // namespace latecomer::bcast
