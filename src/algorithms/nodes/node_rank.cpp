#include "algorithms/nodes/node_rank.hpp"

namespace latecomer {

NodeRank::NodeRank(const Plan& plan, Builder& builder)
    : plan_(plan), builder_(builder), drivers_{Nodes(plan.placement, plan.problem.ranks), {}} {
  for (const Count rank : plan.table) drivers_.rank_of.push_back(static_cast<Rank>(rank));
}

Lifted NodeRank::carry_out(const Plan& inner, const Vectors& vectors, bool in_place,
                           const std::vector<OpIndex>& stamps_known) const {
  Plan local = inner;
  local.problem.in_place = in_place;
  return lift(local, drivers_, vectors, stamps_known, builder_);
}

Lifted NodeRank::carry_out_alone(const Plan& inner, Range wave) const {
  return carry_out(inner, {builder_.input(wave), builder_.output(wave)}, plan_.problem.in_place);
}

}  // namespace latecomer
