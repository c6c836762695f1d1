// All-reduce of ranks that share nodes: one vector leaves a node and one comes in, however many
// ranks it has. Ranks add their vectors to the node's buffer as they come, piece by piece; the
// node's driver carries out the program of the node among the nodes; all copy the result. The
// scoreboard finds which operations wait for which pieces, so that the phases overlap.
//
// Cost: of the algorithm among the nodes for N nodes, and m gamma. Where no ranks share a node, and
// for operators that do not commute, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include "algorithms/nodes/among.hpp"
#include "algorithms/nodes/plans.hpp"
#include "algorithms/nodes/waves.hpp"
#include "algorithms/registry.hpp"

namespace latecomer::allreduce {
namespace {

constexpr Lifting kOnNodes{
    goes_in_waves, waves_among, {"early_owners", "prereduced_circulant"}, true, true};

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.parameters.try_emplace("blocks", 0);
  fill_lifted(plan, knowledge, kOnNodes);
  fill_pieces(plan, Turns::slices);
}

/// Signals the result, and with its last piece the arrival stamps of the others.
void give(const PieceFlags& result, const Lifted& lifted, const Wave& wave, Builder& builder) {
  result.signal(builder);
  if (!wave.last) return;
  builder.piggyback_last();
  builder.wait_also_for_all(lifted.told);
}

void build(const Plan& plan, Builder& builder) {
  const NodeRank rank(plan, builder);
  builder.piggyback(false);  // where, is said explicitly
  PieceFlags ended;          // the use of the wave before
  for (const Wave& wave : waves_of(plan, rank, Turns::slices, builder)) {
    if (rank.alone()) {
      rank.carry_out_alone(plan_of(plan, wave), wave.range);
      continue;
    }
    const bool first = wave.number == 0;
    const Sum sum(wave, rank, builder);
    const PieceFlags result = rank.one_node() ? PieceFlags() : PieceFlags(wave, builder);
    ended.await(rank.mates(), builder);
    ended = wave.last ? PieceFlags() : PieceFlags(wave, builder);
    sum.add(first);
    std::vector<OpIndex> known;
    if (rank.drives() || rank.one_node()) known = sum.await(first);
    if (rank.drives()) {
      give(result, rank.carry_out(plan_of(plan, wave), wave.whole(), known), wave, builder);
    }
    for (Count piece = 0; piece < wave.pieces; ++piece) {
      if (!rank.drives() && !rank.one_node()) {
        result.await(piece, 1, builder);
        if (wave.last && piece + 1 == wave.pieces) builder.piggyback_last();
      }
      builder.copy(wave.piece(piece), builder.output(wave.vector(piece)));
      if (!wave.last) ended.signal_end_of_use(piece, builder);
    }
  }
}

Cost cost(const Plan& plan) {
  if (among_all(plan)) return cost_of(plan.inner.front());
  return Cost{0, 0, plan.problem.count} + cost_of_waves(plan);
}

}  // namespace

LATECOMER_ROW(allreduce, nodes) {
  return {.arrival_aware = true,
          .scratch_messages = 3,
          .parameters = {among_parameter("allreduce"),
                         pieces_parameter(),
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
