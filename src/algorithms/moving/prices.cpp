#include "algorithms/moving/prices.hpp"

#include <algorithm>

namespace latecomer::moving {

Seconds one_by_one(const Moves& moves, const Plan& plan, const Network& network) {
  Seconds sum = 0;
  for (const Move& move : moves) {
    sum += network.transfer(move.range.count * plan.problem.element_bytes);
  }
  return sum;
}

Seconds asked_at_once(const Moves& moves, const Plan& plan, const Network& network) {
  Seconds sum = 0;
  Seconds handshake = 0;
  for (const Move& move : moves) {
    const Count bytes = move.range.count * plan.problem.element_bytes;
    sum += network.occupancy(bytes);
    handshake = std::max(handshake, network.transfer(bytes) - network.occupancy(bytes));
  }
  return sum + handshake;
}

Seconds bruck_time(const Plan& plan, const Network& network) {
  const Rank ranks = plan.problem.ranks;
  const Count bytes = plan.problem.bytes();
  Seconds sum = 0;
  for (Rank held = 1; held < ranks; held *= 2) {
    const Count sent = (bytes * std::min(held, ranks - held) + ranks - 1) / ranks;
    const bool exchange = 2 * held == ranks;  // the two ranks are each other's
    sum += exchange ? network.exchanging(sent) : network.transfer(sent);
  }
  return sum;
}

Seconds neighbor_exchange_time(const Plan& plan, const Network& network) {
  const Count bytes = longest_part(plan.problem) * plan.problem.element_bytes;
  const Rank pairs = plan.problem.ranks / 2 - 1;
  // Of two ranks both neighbours are one, but there is only one round.
  return network.exchanging(bytes) + pairs * network.exchanging(2 * bytes);
}

}  // namespace latecomer::moving
