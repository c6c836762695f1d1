// Recursive doubling: in each of log2 P rounds a rank exchanges its whole partial result with the
// one whose number differs in one bit. Ranks beyond a power of two hand their data to a neighbour
// first and get the result last.
//
// Cost: log2 P (alpha + m beta + m gamma), for other P floor(log2 P) + 2 rounds. Use it for short
// vectors. Keeps rank order: both partners of an exchange compute the same bits.
// Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005).
#include <algorithm>

#include "algorithms/after_last.hpp"
#include "algorithms/allreduce/folded.hpp"
#include "algorithms/row.hpp"

namespace latecomer::allreduce {
namespace {

void exchange_all(const FoldedRanks& folded, const Plan& plan, Builder& builder) {
  const Range all{0, plan.problem.count};
  Slice value = builder.input(all);
  const Slice spares[2] = {builder.output(all), builder.scratch(all.count)};
  const Rank me = builder.me();
  // Receives go where the value is not.
  const auto landing = [&] { return value.buffer == spares[0].buffer ? spares[1] : spares[0]; };
  // Own data that must be moved to stand on the right go to the slice that is free.
  const auto spare = [&] { return landing() == spares[0] ? spares[1] : spares[0]; };
  const auto side = [&](Rank peer) { return peer < me ? Received::left : Received::right; };
  if (folded.hosts(me)) {
    builder.recv(me - 1, landing());
    value = builder.fold(landing(), Received::left, value, spare());
  }
  for (Rank mask = 1; mask < folded.core; mask *= 2) {
    const Rank peer = folded.rank(folded.position(me) ^ mask);
    builder.send(peer, value);
    builder.recv(peer, landing());
    value = builder.fold_in_order(landing(), side(peer), value, spare());
  }
  builder.copy(value, builder.output(all));
}

void build(const Plan& plan, Builder& builder) { build_folded(plan, builder, exchange_all); }

Cost cost(const Plan& plan) {
  const FoldedRanks folded(plan.problem.ranks);
  const Count more = folded.extra > 0 ? 1 : 0;
  const Count m = plan.problem.count;
  return {folded.log2 + 2 * more, (folded.log2 + more) * m, (folded.log2 + more) * m};
}

/// Hosts are behind the others. What leaves without waiting for them is received while they
/// combine, but in the rounds in which they meet each other.
Seconds time(const Plan& plan, const Network& network) {
  const FoldedRanks folded(plan.problem.ranks);
  const Count bytes = plan.problem.bytes();
  const Seconds transfer = network.transfer(bytes);
  const Seconds combining = network.combining(bytes);
  const Seconds rounds = folded.log2 * network.exchanging(bytes);
  if (folded.extra == 0) return rounds + folded.log2 * combining;
  const Seconds in_step = transfer + rounds + (folded.log2 + 1) * combining;
  if (bytes > network.eager_limit) return in_step + transfer;
  const Rank meeting = ceil_log2(folded.extra);
  return std::max(in_step, 2 * transfer + rounds + (meeting + 1) * combining);
}

/// One rank on its way: when it has its partial result, and when its link is free to send.
struct OnTheWay {
  Seconds arrival = 0;
  Seconds value = 0;
  Seconds link = 0;

  explicit OnTheWay(Seconds arrives) : arrival(arrives), value(arrives), link(arrives) {}
  [[nodiscard]] Seconds exit() const { return std::max(value, link); }
};

/// The times of one call's messages.
struct Timing {
  Seconds exchange;
  Seconds transfer;
  Seconds fold;
  bool waits;  // a message leaves only when its receiver has arrived

  /// Occupies the sender's link for `pass`; when it is received.
  Seconds send(OnTheWay& from, const OnTheWay& to, Seconds pass) const {
    const Seconds begin = std::max(from.exit(), waits ? to.arrival : from.arrival);
    return from.link = begin + pass;
  }
  void receive(OnTheWay& to, Seconds at) const { to.value = std::max(to.value, at) + fold; }
};

Seconds time_after_last(const Plan& plan, const Network& network,
                        const std::vector<Seconds>& arrivals) {
  const FoldedRanks folded(plan.problem.ranks);
  const Count bytes = plan.problem.bytes();
  const Timing timing{network.exchanging(bytes), network.transfer(bytes), network.combining(bytes),
                      bytes > network.eager_limit};
  std::vector<OnTheWay> ranks(arrivals.begin(), arrivals.end());
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
    if (!folded.waits(rank)) continue;
    OnTheWay& host = ranks[rank + 1];
    timing.receive(host, timing.send(ranks[rank], host, timing.transfer));
  }
  for (Rank mask = 1; mask < folded.core; mask *= 2) {
    for (Rank position = 0; position < folded.core; ++position) {
      if ((position & mask) != 0) continue;
      OnTheWay& one = ranks[folded.rank(position)];
      OnTheWay& other = ranks[folded.rank(position ^ mask)];
      const Seconds there = timing.send(one, other, timing.exchange);
      const Seconds back = timing.send(other, one, timing.exchange);
      timing.receive(one, back);
      timing.receive(other, there);
    }
  }
  std::vector<Seconds> exits;
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
    OnTheWay& me = ranks[rank];
    if (folded.waits(rank)) me.value = timing.send(ranks[rank + 1], me, timing.transfer);
    exits.push_back(me.exit());
  }
  return mean_exit_after_last(exits, arrivals);
}

}  // namespace

LATECOMER_ROW(allreduce, recursive_doubling) {
  return {.cost_formula = "log2 P (alpha + m beta + m gamma); two rounds more for other P",
          .source = "Thakur, Rabenseifner and Gropp 2005",
          .build = build,
          .cost = cost,
          .time = time,
          .time_after_last = time_after_last,
          .tells = always_tells};
}

}  // namespace latecomer::allreduce
