#include "algorithms/allreduce/chain.hpp"

#include <algorithm>

#include "base/partition.hpp"

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
  /// The position that sends the result to this one. The tail has none.
  [[nodiscard]] Rank giver() const {
    if (way == Override::back) return at + 1;
    return head() ? ranks - 1 : at - 1;
  }
  /// The position to which this one sends the result; -1: none.
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

/// Reduces segment `s` up to this rank and sends it on; at the tail it is the result then.
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

// The times at which the ranks of a chain with the override ring leave, from their arrivals.
//
// Every stage passes a segment each c = alpha + m/S beta, so one time describes a position: when
// its first segment leaves; the others follow c apart. Position i's first partial segment leaves
// when the rank has arrived and the segment from the position before is there, whichever is later
// (max-plus, one pass over the ranks). The result's way around starts at the tail and follows the
// partial segments over each link.

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

/// The time at which the first partial segment leaves each position but the tail.
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

/// The exits of all positions, the tail's first; `arrivals` by position.
std::vector<Seconds> exits(const std::vector<Seconds>& arrivals, const Stage& stage) {
  const std::vector<Seconds> partials = first_partials(arrivals, stage);
  const Seconds tail = std::max(arrivals.back(), partials.back() + stage.pass) + stage.fold;
  std::vector<Seconds> all = {tail + stage.all};
  Seconds result = tail + stage.pass;  // the first segment of it at position 0
  for (std::size_t i = 0; i < partials.size(); ++i) {
    // Position i sends the result on when it has sent on all its partial segments.
    const bool last = i + 1 == partials.size();
    const Seconds handed = std::max(result, partials[i] + stage.all);
    all.push_back(last ? result - stage.pass + stage.all : handed + stage.all);
    result = handed + stage.pass;
  }
  return all;
}

}  // namespace

std::vector<Parameter> chain_parameters() {
  return {segments_parameter(kEagerSegments),
          {"override", "which way the result goes; default ring", 0, {"ring", "back"}}};
}

void build_chain(const Plan& plan, Builder& builder) {
  const Place place(plan, builder.me());
  // The tail sends a segment back as soon as it is complete; the others reduce all segments first,
  // so that partial results, which the tail waits for, go before final ones.
  for (Count s = 0; s < place.segments; ++s) {
    reduce_segment(plan, place, s, builder);
    if (place.tail()) override_segment(plan, place, s, builder);
  }
  if (place.tail()) return;
  builder.piggyback_again();  // results take the way of partial ones, and carry the arrivals of all
  for (Count s = 0; s < place.segments; ++s) override_segment(plan, place, s, builder);
}

Cost chain_cost(const Plan& plan) {
  const Count ranks = plan.problem.ranks;
  const Count most = std::max<Count>(1, plan.problem.count);
  const Count segments = std::min(plan.parameters.at("segments"), most);
  const bool back = plan.parameters.at("override") == static_cast<Count>(Override::back);
  Count rounds = std::max(segments, ranks) + segments + ranks - 3;
  if (back) rounds = 2 * (segments + ranks - 2);  // an upper bound: one loop after the other
  if (ranks == 2) rounds = segments + 1;
  const Count longest = Partition(plan.problem.count, segments).longest();
  return {rounds, rounds * longest, (ranks - 1) * longest};
}

Seconds chain_mean_after_last(const Plan& plan, const Network& network,
                              const std::vector<Seconds>& arrivals) {
  if (plan.problem.ranks == 1) return 0;
  if (plan.parameters.at("override") != static_cast<Count>(Override::ring)) {
    return hockney_time(plan.problem, chain_cost(plan), network);
  }
  std::vector<Seconds> by_position;
  for (const Rank rank : plan.order) by_position.push_back(arrivals[rank]);
  return mean_exit_after_last(exits(by_position, stage_of(plan, network)), arrivals);
}

}  // namespace latecomer::allreduce
