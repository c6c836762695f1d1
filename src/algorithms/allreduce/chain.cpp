#include "algorithms/allreduce/chain.hpp"

#include <algorithm>

#include "base/partition.hpp"
#include "patterns/pipeline.hpp"

namespace latecomer::allreduce {
namespace {

/// One rank's place on the chain.
struct Place {
  Place(const Plan& plan, Rank me)
      : ranks(plan.problem.ranks),
        segments(plan.parameters.at("segments")),
        way(static_cast<Override>(plan.parameters.at("override"))),
        parts(plan.problem.count, segments) {
    at =
        static_cast<Rank>(std::find(plan.order.begin(), plan.order.end(), me) - plan.order.begin());
  }

  [[nodiscard]] bool head() const { return at == 0; }
  [[nodiscard]] bool tail() const { return at == ranks - 1; }
  /// The position that hands the result to this one; not asked of the tail.
  [[nodiscard]] Rank giver() const {
    if (way == Override::back) return at + 1;
    return head() ? ranks - 1 : at - 1;
  }
  /// The position that this one hands the result to; -1: none.
  [[nodiscard]] Rank taker() const {
    if (way == Override::back) return at - 1;
    if (tail()) return 0;
    return at + 1 == ranks - 1 ? -1 : at + 1;
  }

  Rank at = 0;
  Rank ranks;
  Count segments;
  Override way;
  Partition parts;
};

/// Reduces segment `s` up to this rank and passes it on; the tail has the result then.
void reduce_segment(const Plan& plan, const Place& place, Count s, Builder& builder) {
  const Range range = place.parts.range(s);
  Slice partial = builder.input(range);
  if (!place.head()) {
    const Rank previous = plan.order[place.at - 1];
    partial = builder.receive_and_fold(previous, range, Received::left, place.tail());
  }
  if (!place.tail()) builder.send(plan.order[place.at + 1], partial);
}

void override_segment(const Plan& plan, const Place& place, Count s, Builder& builder) {
  const Slice result = builder.output(place.parts.range(s));
  if (!place.tail()) builder.recv(plan.order[place.giver()], result);
  if (place.taker() >= 0) builder.send(plan.order[place.taker()], result);
}

/// `rounds` transfers of a segment, and its combines on the way.
Seconds pipeline_time(const Plan& plan, const Network& network, Count rounds) {
  const Problem& problem = plan.problem;
  const Count longest = Partition(problem.count, plan.parameters.at("segments")).longest();
  const Count bytes = longest * problem.element_bytes;
  return static_cast<double>(rounds) * network.transfer(bytes) +
         static_cast<double>(problem.ranks - 1) * network.combining(bytes);
}

}  // namespace

std::vector<Parameter> chain_parameters() {
  return {{"segments",
           "in all; default: the best for the pipeline, sent eagerly",
           1,
           {},
           false,
           TakenOver::in_proportion},
          {"override", "which way the result goes; default ring", 0, {"ring", "back"}}};
}

void fill_chain(Plan& plan, const Network& network, const ChainTime& time) {
  plan.parameters.try_emplace("override", static_cast<Count>(Override::ring));
  if (plan.parameters.contains("segments")) return;
  const Problem& problem = plan.problem;
  Plan tried = plan;
  const Count best = best_segments(problem.count, [&](Count segments) {
    tried.parameters["segments"] = segments;
    return time(tried, network);
  });
  const Count least = network.handshake > 0 ? eager_parts(problem.bytes(), network) : 1;
  plan.parameters["segments"] = std::max(best, std::min(least, most_segments(problem.count)));
}

void build_chain(const Plan& plan, Builder& builder) {
  const Place place(plan, builder.me());
  // The tail hands a segment on as soon as it is complete; the others reduce all segments first,
  // so that partial results, which the tail waits for, go before final ones.
  for (Count s = 0; s < place.segments; ++s) {
    reduce_segment(plan, place, s, builder);
    if (place.tail()) override_segment(plan, place, s, builder);
  }
  if (place.tail()) return;
  builder.tell_anew();  // results go the way of partial ones, and tell of all
  for (Count s = 0; s < place.segments; ++s) override_segment(plan, place, s, builder);
}

Cost chain_cost(const Plan& plan) {
  const Rank ranks = plan.problem.ranks;
  if (ranks == 1) return {};
  const Count segments =
      std::min(plan.parameters.at("segments"), std::max<Count>(1, plan.problem.count));
  const bool back = plan.parameters.at("override") == static_cast<Count>(Override::back);
  Cost cost;
  cost.sent = (ranks == 2 ? 1 : 2) * plan.problem.count;
  cost.combined = plan.problem.count;
  if (ranks == 2) {
    cost.rounds = segments + 1;
  } else if (back) {
    cost.rounds = 2 * (segments + ranks - 2);  // an upper bound: both loops one after the other
  } else {
    cost.rounds = std::max<Count>(segments, ranks) + segments + ranks - 3;
  }
  return cost;
}

Seconds chain_time(const Plan& plan, const Network& network) {
  if (plan.problem.ranks == 1) return 0;
  return pipeline_time(plan, network, chain_cost(plan).rounds);
}

}  // namespace latecomer::allreduce
