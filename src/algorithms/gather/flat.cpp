#include "algorithms/gather/flat.hpp"

#include <algorithm>

#include "algorithms/moving/replay.hpp"

namespace latecomer::gather {
namespace {

moving::Moves moves(const Plan& plan) {
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  moving::Moves all;
  for (const Rank rank : plan.order) {
    if (rank != plan.problem.root) moving::add(all, {rank, plan.problem.root, parts[rank], true});
  }
  return all;
}

void take_all(const Plan& plan, const std::vector<Range>& parts, Builder& builder) {
  for (const Rank rank : plan.order) {
    const Range part = parts[rank];
    if (rank == builder.me()) {
      builder.copy(builder.input(part), builder.output(part));
      continue;
    }
    const bool early = builder.background();
    const Slice landing = early ? builder.scratch(part.count) : builder.output(part);
    builder.recv(rank, landing);
    builder.copy(landing, builder.output(part));
  }
}

}  // namespace

void build_flat(const Plan& plan, Builder& builder) {
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  if (builder.me() == plan.problem.root) return take_all(plan, parts, builder);
  builder.send(plan.problem.root, builder.input(parts[builder.me()]));
}

Cost flat_cost(const Plan& plan) {
  Cost cost;
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
    if (rank == plan.problem.root || parts[rank].empty()) continue;
    ++cost.rounds;
    cost.sent = std::max(cost.sent, parts[rank].count);
  }
  return cost;
}

Seconds flat_time(const Plan& plan, const Network& network) {
  Seconds sum = 0;
  for (const moving::Move& move : moves(plan)) {
    sum += network.transfer(move.range.count * plan.problem.element_bytes);
  }
  return sum;
}

Seconds flat_time_after_last(const Plan& plan, const Network& network,
                             const std::vector<Seconds>& arrivals) {
  return moving::time_after_last(moves(plan), plan, network, arrivals);
}

}  // namespace latecomer::gather
