// All-reduce of ranks that share nodes: one vector leaves a node and one comes in, however many
// ranks it has. Ranks add their vectors to the node's buffer as they come, piece by piece; the
// node's driver carries out the program of the node among the nodes; all copy the result. The
// scoreboard finds which operations wait for which pieces, so that the phases overlap.
//
// Cost: of the algorithm among the nodes for N nodes, and m gamma. Operators that do not commute
// take the vectors in the order of ranks (cells.hpp) where each node has consecutive ranks. On
// other placements, and where no ranks share a node, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include <algorithm>

#include "algorithms/nodes/among.hpp"
#include "algorithms/nodes/cells.hpp"
#include "algorithms/nodes/lanes.hpp"
#include "algorithms/nodes/piece_order.hpp"
#include "algorithms/nodes/plans.hpp"
#include "algorithms/nodes/sum.hpp"
#include "algorithms/nodes/waves.hpp"
#include "algorithms/registry.hpp"

namespace latecomer::allreduce {
namespace {

constexpr Lifting kOnNodes{
    goes_in_waves, waves_among, {"early_owners", "prereduced_circulant"}, true, true};

// Where ranks take longer to add and to copy than the link to send, many blocks keep all of them
// busy from the begin to the end.
constexpr Count kShortestBlock = 65536;  // bytes
constexpr Count kMostBlocks = 32;

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  fill_cells(plan);
  fill_lanes(plan, knowledge);
  const Count lanes = lanes_of(plan);
  const Count blocks = std::min(plan.problem.bytes() / lanes / kShortestBlock, kMostBlocks);
  plan.parameters.try_emplace("blocks", lanes > 1 ? blocks : 0);
  fill_lifted(plan, knowledge, kOnNodes);
  fill_pieces(plan, Turns::slices);
}

/// A lane of a wave, and what its ranks tell each other of it.
struct Lane {
  Lane(const Plan& plan, const Wave& part, const NodeRank& rank, Builder& builder)
      : wave(part), sum(part, rank, builder) {
    if (!rank.one_node()) {
      result = PieceFlags(wave, builder);
      order = piece_order(plan_of(plan, wave), rank.node(), wave);
    }
    if (!wave.last) end_of_use = PieceFlags(wave, builder);
  }

  /// Whether the first piece carries the arrival stamps of the node.
  [[nodiscard]] bool tells() const { return wave.lane == 0 && wave.number == 0; }

  Wave wave;
  Sum sum;
  PieceFlags result;
  PieceFlags end_of_use;
  std::shared_ptr<const PieceOrder> order;  // null on one node
};

/// The driver's share of a lane: to reduce the sum of its node with those of the others, and to
/// signal the result, with its last piece the arrival stamps of the others.
void drive(const Plan& plan, const Lane& lane, const NodeRank& rank, Builder& builder) {
  const Wave& wave = lane.wave;
  std::vector<OpIndex> known;
  for (std::size_t i = 0; i < lane.order->used.size(); ++i) {
    const bool told = i == 0 && lane.tells();
    const auto there = lane.sum.await(lane.order->used[i], told);
    if (told) known = there;
  }
  const Lifted lifted = rank.carry_out(plan_of(plan, wave), wave.whole(), wave.lane, known);
  for (const Count piece : lane.order->result) lane.result.signal(piece, builder);
  if (wave.lane > 0 || !wave.last) return;
  builder.piggyback_last();
  builder.wait_also_for_all(lifted.told);
}

/// Copies a piece of the result.
void take(const Lane& lane, Count piece, const NodeRank& rank, Builder& builder) {
  const Wave& wave = lane.wave;
  if (!rank.drives(wave.lane) && !rank.one_node()) {
    lane.result.await(piece, 1, builder);
    if (wave.lane == 0 && wave.last && piece == lane.order->result.back()) builder.piggyback_last();
  }
  builder.copy(wave.piece(piece), builder.output(wave.vector(piece)));
  if (!wave.last) lane.end_of_use.signal_end_of_use(piece, builder);
}

/// The lanes of a wave on several nodes: what other nodes wait for goes first.
void combine(const Plan& plan, std::vector<Lane>& lanes, const NodeRank& rank, Builder& builder) {
  const Wave& any = lanes.front().wave;
  const auto pieces = static_cast<std::size_t>(any.pieces);
  for (std::size_t i = 0; i < pieces; ++i) {
    for (Lane& lane : lanes) lane.sum.add(lane.order->used[i], i == 0 && lane.tells());
  }
  for (std::size_t i = 0; i < pieces; ++i) {
    for (Lane& lane : lanes) lane.sum.combine(lane.order->used[i], i == 0 && lane.tells());
  }
  for (const Lane& lane : lanes) {
    if (rank.drives(lane.wave.lane)) drive(plan, lane, rank, builder);
  }
  for (std::size_t i = 0; i < pieces; ++i) {
    for (const Lane& lane : lanes) take(lane, lane.order->result[i], rank, builder);
  }
}

/// A wave on one node. A rank takes pieces soon after it added to them: they are in its cache.
void combine_alone(Lane& lane, const NodeRank& rank, Builder& builder) {
  constexpr Count kAhead = 2;  // pieces: mates may be a little later
  const Wave& wave = lane.wave;
  for (Count piece = 0; piece < wave.pieces + kAhead; ++piece) {
    const bool tells = piece == 0 && lane.tells();
    if (piece < wave.pieces) {
      lane.sum.add(piece, tells);
      lane.sum.combine(piece, tells);
    }
    if (piece < kAhead) continue;
    lane.sum.await(piece - kAhead, lane.tells() && piece == kAhead);
    take(lane, piece - kAhead, rank, builder);
  }
}

void build(const Plan& plan, Builder& builder) {
  const NodeRank rank(plan, builder);
  builder.piggyback(false);      // where, is said explicitly
  std::vector<PieceFlags> used;  // the wave before
  for (const std::vector<Wave>& waves : lanes_of_waves(plan, rank, Turns::slices, builder)) {
    if (rank.alone()) {
      for (const Wave& wave : waves) {
        rank.carry_out_alone(plan_of(plan, wave), wave.range, wave.lane);
      }
      continue;
    }
    std::vector<Lane> lanes;
    for (const Wave& wave : waves) lanes.emplace_back(plan, wave, rank, builder);
    for (const PieceFlags& flags : used) flags.await(rank.mates(), builder);
    used.clear();
    for (const Lane& lane : lanes) used.push_back(lane.end_of_use);
    rank.one_node() ? combine_alone(lanes.front(), rank, builder)
                    : combine(plan, lanes, rank, builder);
  }
}

Cost cost(const Plan& plan) {
  if (among_all(plan)) return cost_of(plan.inner.front());
  return Cost{0, 0, plan.problem.count} + cost_of_waves(plan);
}

}  // namespace

LATECOMER_ROW(allreduce, nodes) {
  return {.arrival_aware = true,
          .lifts = true,
          .scratch_messages = 3,
          .parameters = {among_parameter(),
                         pieces_parameter(),
                         cells_parameter(),
                         lanes_parameter(),
                         {"blocks",
                          "of the algorithm among the nodes; default: 0, as many as it takes by "
                          "itself",
                          0,
                          {}}},
          .cost_formula = "of the algorithm among the N nodes, + m gamma",
          .source = "this project, docs/nodes.md",
          .fill_plan = fill_plan,
          .build = build_lifted<build>,
          .check = check_plan_of<kOnNodes>,
          .cost = cost,
          .informs_all = informs_all_of<kOnNodes>};
}

}  // namespace latecomer::allreduce
