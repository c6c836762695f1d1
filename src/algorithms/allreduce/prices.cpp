#include "algorithms/allreduce/prices.hpp"

#include <algorithm>

#include "algorithms/after_last.hpp"
#include "algorithms/allreduce/tree_walk.hpp"
#include "patterns/powers.hpp"

namespace latecomer::allreduce {
namespace {

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

}  // namespace

/// Hosts are behind the others. What leaves without waiting for them is received while they
/// combine, but in the rounds in which they meet each other.
Seconds recursive_doubling_time(const Plan& plan, const Network& network) {
  const PowerOfTwoGroup folded(plan.problem.ranks);
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

Seconds recursive_doubling_after_last(const Plan& plan, const Network& network,
                                      const std::vector<Seconds>& arrivals) {
  const PowerOfTwoGroup folded(plan.problem.ranks);
  const Count bytes = plan.problem.bytes();
  const Timing timing{network.exchanging(bytes), network.transfer(bytes), network.combining(bytes),
                      bytes > network.eager_limit};
  std::vector<OnTheWay> ranks(arrivals.begin(), arrivals.end());
  for (Rank rank = 0; rank < plan.problem.ranks; ++rank) {
    if (!folded.is_folded(rank)) continue;
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
    if (folded.is_folded(rank)) me.value = timing.send(ranks[rank + 1], me, timing.transfer);
    exits.push_back(me.exit());
  }
  return mean_exit_after_last(exits, arrivals);
}

/// A segment more: it enters the busiest rank from each child, and leaves it to each.
Seconds PostOrderTree::time(const Problem& problem, Count segments, const Network& network) const {
  const SegmentTime segment(problem, segments, network);
  const auto more = static_cast<double>(segment.count - 1) * static_cast<double>(most_children());
  return one_segment(segment.transfer, segment.combine) +
         more * (std::max(segment.transfer, segment.combine) + segment.transfer);
}

}  // namespace latecomer::allreduce
