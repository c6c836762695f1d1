// Reduce of ranks that share nodes: one vector leaves each node. Ranks add their vectors to the
// node's buffer as they come; drivers reduce the sums among the nodes. The root takes the result
// from its node's buffer, or, as its node's driver, has it in its output. For a late root the
// others of its node take in all of the other nodes'.
//
// Cost: of the algorithm among the nodes for N nodes, and m gamma. Operators that do not commute
// take the vectors in the order of ranks (cut.hpp) where each node has consecutive ranks. On
// other placements, and where no ranks share a node, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include <memory>

#include "algorithms/nodes/lifted_row.hpp"
#include "algorithms/nodes/sum.hpp"

namespace latecomer::reduce {
namespace {

class Steps : StepsOfRank {
 public:
  static constexpr Collective kCollective = Collective::reduce;
  // The second one is for operators that do not commute: ranks leave it before the late one comes.
  static constexpr std::string_view kAware[] = {"clairvoyant", "linear_tree"};

  using StepsOfRank::StepsOfRank;

  void begin(const std::vector<Wave>& lanes) {
    wave_ = lanes.front();
    sum_ = std::make_unique<Sum>(wave_, rank_, builder_);
    if (rank_.hands_over()) result_ = wave_.flags(builder_);
    ended_.await_all(rank_.hands_over() ? 2 : 1);
    ended_ = wave_.last ? Flags() : wave_.flags_of_use(builder_);
  }

  void put_in() {
    sum_->add();
    sum_->combine();
    if (rank_.drives() || (rank_.root() && rank_.one_node())) sum_->await();
  }

  void carry_out(Count /*lane*/) {
    const Slice whole = wave_.whole();
    const Slice to = rank_.root() ? builder_.output(wave_.range) : whole;
    rank_.carry_out(plan_of(plan_, wave_), {whole, to}, !rank_.root());
    result_.signal();
  }

  /// The root takes the result from its node's buffer, unless it has received it.
  void take_out() {
    for (Count piece = 0; piece < wave_.pieces && rank_.root() && !rank_.drives(); ++piece) {
      result_.await(piece);
      builder_.copy(wave_.piece(piece), builder_.output(wave_.vector(piece)));
    }
    if (rank_.drives() || rank_.root()) ended_.signal_end_of_use();
  }

 private:
  Wave wave_;
  std::unique_ptr<Sum> sum_;
  Flags result_;  // for the root, where another rank drives its node
  Flags ended_;   // the use of the wave before, then of this one
};

}  // namespace

LATECOMER_ROW(reduce, nodes) { return lifted_row<Steps>(); }

}  // namespace latecomer::reduce
