#include "algorithms/nodes/node_rank.hpp"

namespace latecomer {

NodeRank::NodeRank(const Plan& plan, Builder& builder)
    : plan_(plan), builder_(builder), nodes_(plan.placement, plan.problem.ranks) {}

Drivers NodeRank::drivers(Count lane) const {
  const auto number = static_cast<std::size_t>(nodes_.count());
  return {nodes_, std::span(plan_.table).subspan(static_cast<std::size_t>(lane) * number, number)};
}

Lifted NodeRank::carry_out(const Plan& inner, const Vectors& vectors, bool in_place, Count lane,
                           const std::vector<OpIndex>& stamps_known) const {
  Plan local = inner;
  local.problem.in_place = in_place;
  return lift(local, drivers(lane), vectors, stamps_known, builder_);
}

Lifted NodeRank::carry_out_alone(const Plan& inner, Range wave, Count lane) const {
  return carry_out(inner, {builder_.input(wave), builder_.output(wave)}, plan_.problem.in_place,
                   lane);
}

}  // namespace latecomer
