// Reduce of ranks that share nodes: one vector leaves each node. Ranks add their vectors to the
// node's buffer as they come; drivers reduce the sums among the nodes. The root takes the result
// from its node's buffer, or, as its node's driver, has it in its output. For a late root its mates
// take in all of the others.
//
// Cost: of the algorithm among the nodes for N nodes, and m gamma. Operators that do not commute
// take the vectors in the order of ranks (cells.hpp) where each node has consecutive ranks. On
// other placements, and where no ranks share a node, it is that algorithm among all ranks.
// Source: this project (docs/nodes.md); ranks of a node as a unit: Luo et al., HAN, CLUSTER 2020.
#include "algorithms/nodes/among.hpp"
#include "algorithms/nodes/cells.hpp"
#include "algorithms/nodes/plans.hpp"
#include "algorithms/nodes/sum.hpp"
#include "algorithms/nodes/waves.hpp"
#include "algorithms/registry.hpp"

namespace latecomer::reduce {
namespace {

// The second one is for operators that do not commute: ranks leave it before the late one comes.
constexpr Lifting kOnNodes{goes_in_waves, waves_among, {"clairvoyant", "linear_tree"}, true, false};

void fill_plan(Plan& plan, const Knowledge& knowledge) {
  plan.parameters.try_emplace("segments", 0);
  fill_cells(plan);
  fill_lifted(plan, knowledge, kOnNodes);
  fill_pieces(plan, Turns::slices);
}

/// The driver's share: to reduce the sum of its node with those of the others.
void drive(const Plan& plan, const Wave& wave, const NodeRank& rank, const Builder& builder) {
  if (!rank.root()) {
    rank.carry_out(plan_of(plan, wave), wave.whole());
    return;
  }
  rank.carry_out(plan_of(plan, wave), {wave.whole(), builder.output(wave.range)}, false);
}

/// The root takes the result from its node's buffer.
void take(const Wave& wave, const PieceFlags& result, const NodeRank& rank, Builder& builder) {
  for (Count piece = 0; piece < wave.pieces; ++piece) {
    if (rank.hands_over()) result.await(piece, 1, builder);
    builder.copy(wave.piece(piece), builder.output(wave.vector(piece)));
  }
}

void build(const Plan& plan, Builder& builder) {
  const NodeRank rank(plan, builder);
  const bool uses = rank.drives() || rank.root();  // the sum
  PieceFlags ended;                                // the use of the wave before
  for (const Wave& wave : waves_of(plan, rank, Turns::slices, builder)) {
    if (rank.alone()) {
      rank.carry_out_alone(plan_of(plan, wave), wave.range);
      continue;
    }
    Sum sum(wave, rank, builder);
    const PieceFlags result = rank.hands_over() ? PieceFlags(wave, builder) : PieceFlags();
    ended.await(rank.hands_over() ? 2 : 1, builder);
    ended = wave.last ? PieceFlags() : PieceFlags(wave, builder);
    sum.add();
    sum.combine();
    if (rank.drives() || (rank.root() && rank.one_node())) sum.await();
    if (rank.drives()) drive(plan, wave, rank, builder);
    if (rank.drives() && rank.hands_over()) result.signal(builder);
    if (rank.root() && !rank.drives()) take(wave, result, rank, builder);
    if (uses) ended.signal_end_of_use(builder);
  }
}

Cost cost(const Plan& plan) {
  if (among_all(plan)) return cost_of(plan.inner.front());
  return Cost{0, 0, plan.problem.count} + cost_of_waves(plan);
}

}  // namespace

LATECOMER_ROW(reduce, nodes) {
  return {.arrival_aware = true,
          .lifts = true,
          .scratch_messages = 3,
          .parameters = {among_parameter(), pieces_parameter(), cells_parameter(),
                         segments_among_parameter()},
          .cost_formula = "of the algorithm among the N nodes, + m gamma",
          .source = "this project, docs/nodes.md",
          .fill_plan = fill_plan,
          .build = build_lifted<build>,
          .check = check_plan_of<kOnNodes>,
          .cost = cost,
          .informs_all = informs_all_of<kOnNodes>};
}

}  // namespace latecomer::reduce
