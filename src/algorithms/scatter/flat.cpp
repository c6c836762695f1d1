#include "algorithms/scatter/flat.hpp"

#include <algorithm>

#include "algorithms/moving/replay.hpp"

namespace latecomer::scatter {
namespace {

moving::Moves moves(const Plan& plan) {
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  moving::Moves all;
  for (const Rank rank : plan.order) {
    if (rank != plan.problem.root) moving::add(all, {plan.problem.root, rank, parts[rank], true});
  }
  return all;
}

}  // namespace

void build_flat(const Plan& plan, Builder& builder) {
  const std::vector<Range> parts = moving::parts_of(plan.problem);
  const Rank root = plan.problem.root;
  const Range own = parts[builder.me()];
  if (builder.me() != root) {
    const bool early = builder.background();
    const Slice landing = early ? builder.scratch(own.count) : builder.output(own);
    builder.recv(root, landing);
    return builder.copy(landing, builder.output(own));
  }
  for (const Rank rank : plan.order) {
    if (rank != root) builder.send(rank, builder.input(parts[rank]));
  }
  builder.copy(builder.input(own), builder.output(own));
}

Cost flat_cost(const Plan& plan) {
  Cost cost;
  for (const moving::Move& move : moves(plan)) {
    ++cost.rounds;
    cost.sent += move.range.count;
  }
  return cost;
}

/// All ask at once: where messages wait for their receivers, there is one handshake.
Seconds flat_time(const Plan& plan, const Network& network) {
  Seconds sum = 0;
  Seconds handshake = 0;
  for (const moving::Move& move : moves(plan)) {
    const Count bytes = move.range.count * plan.problem.element_bytes;
    sum += network.occupancy(bytes);
    handshake = std::max(handshake, network.transfer(bytes) - network.occupancy(bytes));
  }
  return sum + handshake;
}

Seconds flat_time_after_last(const Plan& plan, const Network& network,
                             const std::vector<Seconds>& arrivals) {
  return moving::time_after_last(moves(plan), plan, network, arrivals);
}

}  // namespace latecomer::scatter
