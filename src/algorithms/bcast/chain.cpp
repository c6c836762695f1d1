#include "algorithms/bcast/chain.hpp"

#include <algorithm>

#include "base/partition.hpp"

namespace latecomer::bcast {
namespace {

Partition segments_of(const Plan& plan) {
  return {plan.problem.count, plan.parameters.at("segments")};
}

Count segment_bytes(const Plan& plan) {
  return segments_of(plan).longest() * plan.problem.element_bytes;
}

/// The number of segments that are not empty.
Count segments_sent(const Plan& plan) {
  return std::min(plan.parameters.at("segments"), plan.problem.count);
}

}  // namespace

void fill_chain(Plan& plan, const Network& network, const std::vector<Seconds>& arrivals) {
  fill_eager_segments(plan, network, [&](const Plan& tried) {
    return arrivals.empty() ? hockney_time(plan.problem, chain_cost(tried), network)
                            : chain_mean_after_last(tried, network, arrivals);
  });
}

Cost chain_cost(const Plan& plan) {
  const Count rounds = segments_sent(plan) + plan.problem.ranks - 2;
  return {rounds, rounds * segments_of(plan).longest()};
}

/// Every link passes a segment each c = alpha + m/S beta, so one time describes a rank: when its
/// first segment leaves. That is not before the segment and the rank have arrived (its thread need
/// not wait for the rank), nor, if the segment waits for its receiver, before the receiver has
/// arrived.
Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals) {
  if (plan.problem.ranks == 1 || plan.problem.count == 0) return 0;
  const Count bytes = segment_bytes(plan);
  const Seconds pass = network.transfer(bytes);
  const Seconds all = static_cast<double>(segments_sent(plan)) * pass;
  const bool early = plan.progress == Progress::background;
  const bool waits = bytes > network.eager_limit && !early;
  Seconds leaves = arrivals[plan.order.front()];
  std::vector<Seconds> exits;
  for (std::size_t i = 0; i + 1 < plan.order.size(); ++i) {
    const Seconds here = arrivals[plan.order[i]];
    const Seconds next = arrivals[plan.order[i + 1]];
    if (!early) leaves = std::max(leaves, here);
    if (waits) leaves = std::max(leaves, next);
    exits.push_back(std::max(here, leaves + all));
    leaves += pass;
  }
  // The last rank has all segments when the one before it has forwarded them.
  exits.push_back(std::max(arrivals[plan.order.back()], leaves - pass + all));
  return mean_exit_after_last(exits, arrivals);
}

}  // namespace latecomer::bcast
