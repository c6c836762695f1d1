// All-reduce of ranks that share nodes: one vector leaves a node and one comes in, however many
// ranks it has. Ranks add their vectors to the node's buffer as they come, piece by piece; the
// node's driver carries out the program of the node among the nodes; all copy the result. The
// scoreboard finds which operations wait for which pieces, so that the phases overlap.
//
// Cost: of the algorithm among the nodes for N nodes, and m gamma. Operators that do not commute
// take the vectors in the order of ranks (cut.hpp) where each node has consecutive ranks. On
// other placements, and where no ranks share a node, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include <memory>
#include <utility>

#include "algorithms/nodes/lifted_row.hpp"
#include "algorithms/nodes/sum.hpp"

namespace latecomer::allreduce {
namespace {

/// A lane of a wave, and what its ranks tell each other of it.
struct Lane {
  Lane(const Plan& plan, const Wave& part, const NodeRank& rank, Builder& builder)
      : wave(part), sum(part, rank, builder) {
    if (!rank.one_node()) {
      result = wave.flags(builder);
      order = piece_order(plan_of(plan, wave), rank.node(), wave);
    }
    if (!wave.last) end_of_use = wave.flags_of_use(builder);
  }

  /// True if the first piece carries the arrival stamps of the node.
  [[nodiscard]] bool tells() const { return wave.lane == 0 && wave.number == 0; }

  Wave wave;
  Sum sum;
  Flags result;
  Flags end_of_use;
  std::shared_ptr<const PieceOrder> order;  // null on one node
};

class Steps : StepsOfRank {
 public:
  static constexpr Collective kCollective = Collective::allreduce;
  static constexpr std::string_view kAware[] = {"early_owners", "prereduced_circulant"};

  using StepsOfRank::StepsOfRank;

  void begin(const std::vector<Wave>& waves) {
    const std::vector<Lane> before = std::exchange(lanes_, {});
    lanes_.reserve(waves.size());
    for (const Wave& wave : waves) lanes_.emplace_back(plan_, wave, rank_, builder_);
    for (const Lane& lane : before) lane.end_of_use.await_all(rank_.size());
  }

  /// Pieces that other nodes wait for go first.
  void put_in() {
    if (rank_.one_node()) return;
    const std::size_t pieces = lanes_.front().order->used.size();
    for (std::size_t i = 0; i < pieces; ++i) {
      for (Lane& lane : lanes_) lane.sum.add(lane.order->used[i], i == 0 && lane.tells());
    }
    for (std::size_t i = 0; i < pieces; ++i) {
      for (Lane& lane : lanes_) lane.sum.combine(lane.order->used[i], i == 0 && lane.tells());
    }
  }

  /// The driver reduces the sum of its node with those of the others, and signals the result, with
  /// its last piece the arrival stamps of the others.
  void carry_out(Count number) {
    const Lane& lane = lanes_[static_cast<std::size_t>(number)];
    const Wave& wave = lane.wave;
    std::vector<OpIndex> known;
    for (std::size_t i = 0; i < lane.order->used.size(); ++i) {
      const bool told = i == 0 && lane.tells();
      const auto there = lane.sum.await(lane.order->used[i], told);
      if (told) known = there;
    }
    const Lifted lifted = rank_.carry_out(plan_of(plan_, wave), wave.whole(), number, known);
    for (const Count piece : lane.order->result) lane.result.signal(piece);
    if (number > 0 || !wave.last) return;
    builder_.piggyback_last();
    builder_.wait_also_for_all(lifted.told);
  }

  void take_out() {
    if (rank_.one_node()) return combine_alone(lanes_.front());
    const std::size_t pieces = lanes_.front().order->result.size();
    for (std::size_t i = 0; i < pieces; ++i) {
      for (const Lane& lane : lanes_) take(lane, lane.order->result[i]);
    }
  }

 private:
  /// Copies a piece of the result.
  void take(const Lane& lane, Count piece) {
    const Wave& wave = lane.wave;
    if (!rank_.drives(wave.lane) && !rank_.one_node()) {
      lane.result.await(piece);
      const bool tells = wave.lane == 0 && wave.last && piece == lane.order->result.back();
      if (tells) builder_.piggyback_last();
    }
    builder_.copy(wave.piece(piece), builder_.output(wave.vector(piece)));
    lane.end_of_use.signal_end_of_use(piece);
  }

  /// A wave on one node. A rank takes pieces soon after it added to them: they are in its cache.
  void combine_alone(Lane& lane) {
    constexpr Count kAhead = 2;  // pieces: other ranks may be a little later
    const Count pieces = lane.wave.pieces;
    for (Count piece = 0; piece < pieces + kAhead; ++piece) {
      const bool tells = piece == 0 && lane.tells();
      if (piece < pieces) {
        lane.sum.add(piece, tells);
        lane.sum.combine(piece, tells);
      }
      if (piece < kAhead) continue;
      lane.sum.await(piece - kAhead, lane.tells() && piece == kAhead);
      take(lane, piece - kAhead);
    }
  }

  std::vector<Lane> lanes_;
};

}  // namespace

LATECOMER_ROW(allreduce, nodes) { return lifted_row<Steps>(); }

}  // namespace latecomer::allreduce
