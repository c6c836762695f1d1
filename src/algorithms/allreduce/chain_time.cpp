// When the ranks of a chain with the override ring leave, if they arrive at given times.
//
// Every stage passes a segment each c = alpha + m/S beta, so a chain is described by when its first
// segment leaves each position; the others follow c apart. The partial ones leave position i at
// the latest of its own arrival and what comes from before (max-plus, one pass over the ranks);
// the result's way around starts at the tail and follows the partial ones over each link.
#include <algorithm>

#include "algorithms/after_last.hpp"
#include "algorithms/allreduce/chain.hpp"
#include "base/partition.hpp"

namespace latecomer::allreduce {
namespace {

struct Stage {
  Seconds pass = 0;    // of a segment over a link
  Seconds fold = 0;    // of a segment into the next rank's
  Seconds all = 0;     // of all segments over a link
  bool waits = false;  // a segment leaves only when its receiver has arrived
};

Stage stage_of(const Plan& plan, const Network& network) {
  const Count segments = plan.parameters.at("segments");
  const Count bytes =
      Partition(plan.problem.count, segments).longest() * plan.problem.element_bytes;
  const Seconds pass = network.transfer(bytes);
  return {pass, network.combining(bytes), static_cast<double>(segments) * pass,
          bytes > network.eager_limit};
}

/// When the first partial segment leaves each position but the tail.
std::vector<Seconds> first_partials(const std::vector<Seconds>& arrivals, const Stage& stage) {
  std::vector<Seconds> leaves;
  for (std::size_t i = 0; i + 1 < arrivals.size(); ++i) {
    Seconds at = arrivals[i];
    if (i > 0) at = std::max(at, leaves.back() + stage.pass) + stage.fold;
    if (stage.waits) at = std::max(at, arrivals[i + 1]);
    leaves.push_back(at);
  }
  return leaves;
}

/// Of all positions, the tail's first; `arrivals` by position.
std::vector<Seconds> exits(const std::vector<Seconds>& arrivals, const Stage& stage) {
  const std::vector<Seconds> partials = first_partials(arrivals, stage);
  const Seconds tail = std::max(arrivals.back(), partials.back() + stage.pass) + stage.fold;
  std::vector<Seconds> all = {tail + stage.all};
  Seconds result = tail + stage.pass;  // the first segment of it at position 0
  for (std::size_t i = 0; i < partials.size(); ++i) {
    // Position i hands the result on when it has passed on all its partial segments.
    const bool last = i + 1 == partials.size();
    const Seconds handed = std::max(result, partials[i] + stage.all);
    all.push_back(last ? result - stage.pass + stage.all : handed + stage.all);
    result = handed + stage.pass;
  }
  return all;
}

}  // namespace

Seconds chain_time_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals) {
  if (plan.problem.ranks == 1) return 0;
  if (plan.parameters.at("override") != static_cast<Count>(Override::ring)) {
    return chain_time(plan, network);
  }
  std::vector<Seconds> by_position;
  for (const Rank rank : plan.order) by_position.push_back(arrivals[rank]);
  return mean_exit_after_last(exits(by_position, stage_of(plan, network)), arrivals);
}

}  // namespace latecomer::allreduce
