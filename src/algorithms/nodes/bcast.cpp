// Broadcast among ranks that share nodes: the root's node sends one vector, and each other node
// receives one. The root sends from its own buffer and writes the vector to its node's buffer;
// drivers receive into theirs, piece by piece; mates copy. A rank that arrives late finds the
// vector in its node's memory.
//
// Cost: of the algorithm among the nodes for N nodes. Where no ranks share a node, it is that
// algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include "algorithms/nodes/among.hpp"
#include "algorithms/nodes/plans.hpp"
#include "algorithms/nodes/waves.hpp"
#include "algorithms/registry.hpp"

namespace latecomer::bcast {
namespace {

constexpr Lifting kOnNodes{goes_in_waves, waves_among, {"sorted_linear"}, false, false};

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.parameters.try_emplace("segments", 0);
  fill_lifted(plan, knowledge, kOnNodes);
  fill_pieces(plan, Turns::none);
}

/// The driver's share: to send the wave, or to receive it, and to show it to its mates.
void drive(const Plan& plan, const Wave& wave, const NodeRank& rank, Builder& builder) {
  const Slice input = builder.input(wave.range);
  if (rank.drives()) {
    rank.carry_out(plan_of(plan, wave), {input, wave.whole()}, false);
  }
  if (rank.root()) {
    for (Count piece = 0; piece < wave.pieces; ++piece) {
      builder.copy(builder.input(wave.vector(piece)), wave.piece(piece));
    }
  }
}

void build(const Plan& plan, Builder& builder) {
  const NodeRank rank(plan, builder);
  PieceFlags ended;  // the mates' use of the wave before
  for (const Wave& wave : waves_of(plan, rank, Turns::none, builder)) {
    if (rank.alone()) {
      rank.carry_out_alone(plan_of(plan, wave), wave.range);
      continue;
    }
    const bool writes = rank.drives() || rank.root();
    const PieceFlags there(wave, builder);
    if (writes) {
      ended.await(rank.mates() - 1, builder);
      drive(plan, wave, rank, builder);
      there.signal(builder);
    }
    ended = wave.last ? PieceFlags() : PieceFlags(wave, builder);
    if (rank.root()) continue;
    for (Count piece = 0; piece < wave.pieces; ++piece) {
      if (!writes) there.await(piece, 1, builder);
      builder.copy(wave.piece(piece), builder.output(wave.vector(piece)));
      if (!writes && !wave.last) ended.signal_end_of_use(piece, builder);
    }
  }
}

Cost cost(const Plan& plan) {
  return among_all(plan) ? cost_of(plan.inner.front()) : cost_of_waves(plan);
}

}  // namespace

LATECOMER_ROW(bcast, nodes) {
  return {.arrival_aware = true,
          .lifts = true,
          .scratch_messages = 2,
          .parameters = {among_parameter(), pieces_parameter(), segments_among_parameter()},
          .cost_formula = "of the algorithm among the N nodes",
          .source = "this project, docs/nodes.md",
          .fill_plan = fill_plan,
          .build = build_lifted<build>,
          .check = check_plan_of<kOnNodes>,
          .cost = cost,
          .informs_all = informs_all_of<kOnNodes>};
}

}  // namespace latecomer::bcast
